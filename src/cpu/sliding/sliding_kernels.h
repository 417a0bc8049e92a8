// The kernels of long windows: those of several rows of outputs at once across rows, and those that step by one along a
// row. Their work hardly grows with the window.
#pragma once

#include "cpu/element/kinds.h"

#include <bit>

#include "oriel/types.h"

namespace oriel::cpu {

/// Windows across rows that begin at `windows` places one after the other. A row is n elements at its place.
struct LongRows {
  const void* const* rows = nullptr;  // by place, windows + kernel - 1 of them; absent ones are rows of identities
  void* const* out = nullptr;         // by window; null where none is asked for. No row overlaps it
  index_t windows = 0;
  index_t kernel = 1;
  index_t n = 0;
  void* scratch = nullptr;  // long_scratch_bytes
  index_t ready = 0;        // sums: rows that are in the scratch since the last call
  index_t clock = 0;        // sums: the number of rows[0], in all calls that share the scratch
  bool watch_all = false;   // extrema: look at every row; else at the first `kernel`
};

/// Elements of a row up to `end` are sums to be divided.
struct LongQuotient {
  index_t end = 0;
  double divisor = 1;
};

/// Windows along a row: tap t of output i is row[i * step + t * move].
struct LongRow {
  const void* row = nullptr;  // may be read for two vectors more, unless the windows halve_exactly
  index_t n = 0;              // outputs
  index_t kernel = 1;
  index_t step = 1;  // more than 1: then `move` is 1 and sums have no quotients
  index_t move = 1;
  void* scratch = nullptr;  // slide_scratch_bytes, and stepping_scratch_bytes where `step` is more than 1
  void* out = nullptr;
  const LongQuotient* quotients = nullptr;  // sums of floats: of all outputs, in order; none: not divided
  int quotient_count = 0;
};

/// Whether rows are read from the first tap of the first window to the last of the last one and no further: by even
/// steps neighbours are combined first, into a row of scratch.
constexpr bool halve_exactly(index_t kernel, index_t step) { return kernel > 1 && step % 2 == 0; }

struct LongKernels {
  /// True when a row that was looked at holds a NaN or a negative zero; then `out` is not to be trusted.
  bool (*across)(const LongRows& rows) = nullptr;
  void (*along)(const LongRow& row) = nullptr;
};

/// Vectors of a strip, which is folded down all rows before the next: what is kept of it stays in the first cache.
inline constexpr index_t kStripVectors = 8;
inline constexpr index_t kSumStripVectors = 4;  // of sums more rows are kept
inline constexpr index_t kMostVectorBytes = 64;
/// Sums across rows have kernels for windows of 2 to 2^(1 + so many) - 1 taps.
inline constexpr int kMostSumLevels = 10;

/// Rows that are kept of the sums of 2^level taps: as many as pass until the last of them is needed again (S8).
constexpr index_t kept_sums(index_t kernel, int level) {
  const int top = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(kernel))) - 1;
  if (level == 0 || level > top) return 0;
  if (level < top) return index_t{2} << level;
  return static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(kernel - (index_t{1} << top) + 1)));
}

constexpr index_t long_scratch_bytes(index_t kernel, index_t n, index_t value_bytes, bool sum) {
  if (!sum) return kernel * kStripVectors * kMostVectorBytes;
  const index_t strip = kSumStripVectors * kMostVectorBytes;
  index_t kept = 0;
  for (int level = 1; level <= kMostSumLevels; ++level) kept += kept_sums(kernel, level);
  return kept * ((n * value_bytes + strip - 1) / strip * strip + strip);
}

/// Bytes of a row of scratch for n outputs along a row.
constexpr index_t slide_row_bytes(index_t kernel, index_t n, index_t move, index_t value_bytes) {
  return ((n + kernel * move) * value_bytes + 4 * kMostVectorBytes) / kMostVectorBytes * kMostVectorBytes;
}
/// Outputs along a row whose sums are made together.
constexpr index_t slide_segment(index_t kernel, index_t move, index_t value_bytes) {
  const index_t least = 2048 / value_bytes, span = 4 * kernel * move;
  return span > least ? span : least;
}
constexpr index_t slide_scratch_bytes(index_t kernel, index_t n, index_t move, index_t value_bytes, bool sum) {
  if (!sum) return slide_row_bytes(kernel, n, move, value_bytes);
  const index_t rows = std::popcount(static_cast<std::uint64_t>(kernel)) + 1;
  return rows * slide_row_bytes(kernel, slide_segment(kernel, move, value_bytes), move, value_bytes);
}

/// Elements from one row of scratch to the next that hold n elements and what whole vectors write.
constexpr index_t stepping_row_elems(index_t n, index_t value_bytes) {
  return (n * value_bytes + 3 * kMostVectorBytes) / kMostVectorBytes * kMostVectorBytes / value_bytes;
}
/// Rows of halves, quarters and so on of `n` places, and one of results at every place.
constexpr index_t stepping_scratch_bytes(index_t kernel, index_t n, index_t value_bytes) {
  const index_t halvings = std::bit_width(static_cast<std::uint64_t>(kernel));
  return 2 * n * value_bytes + (halvings + 1) * 3 * kMostVectorBytes;
}

/// The kernels of one instruction set; null members where windows go through the folds of recipe/.
struct SlidingTable {
  LongKernels (*extremum)(Op op, Lane lane) = nullptr;
  LongKernels (*sum)(Lane lane) = nullptr;
};

/// The table of the instruction set in use.
const SlidingTable& sliding_table();

void fill_long_extremum(SlidingTable& table, std::size_t which);
void fill_long_sum(SlidingTable& table, std::size_t which);

}  // namespace oriel::cpu
