// Kernels for extrema with small codes: the first best of every window and the number of its tap, in one pass over
// inputs where they lie. By AVX-512, and f32 and f64 by AVX2.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/element/kinds.h"

namespace oriel::cpu {

/// A row of inputs that a window looks at, `offset` bytes from the first one, and the code of its tap 0 there.
struct CodeRow {
  index_t offset;
  std::uint64_t code;  // repeated in every lane: see repeated_code
};

/// `code` in all lanes of `bytes` bytes.
constexpr std::uint64_t repeated_code(std::uint64_t code, index_t bytes) {
  for (index_t b = bytes; b < 8; b *= 2) code |= code << (8 * b);
  return code;
}

/// A band of rows of outputs, along whose windows inputs are runs of memory. A row that a window lacks is replaced by
/// the nearest one that it has, with that one's code: the same values again are never strictly better.
struct CodeBand {
  const std::byte* x = nullptr;
  const CodeRow* row = nullptr;  // tap t of row r of outputs is row[r * across + t]
  int across = 1;
  bool ascends = false;  // every window reads `across` rows beginning `stride` rows after those of the one before
  index_t rows = 0;
  index_t in = 0;     // elements of a row of x
  index_t first = 0;  // where tap 0 of output 0 looks: <= 0, > -taps
  index_t out = 0;    // elements of a row of outputs
  index_t ahead = 0;  // bytes to what is worth prefetching
  void* y = nullptr;
  index_t y_pitch = 0;  // elements
  std::uint8_t* code = nullptr;
  index_t code_pitch = 0;
  // Instead of codes, by `places`: index[j] of row r is origin + r * row_step + j * step + the code of its tap.
  std::int64_t* index = nullptr;
  index_t index_pitch = 0;
  std::int64_t origin = 0;
  std::int64_t row_step = 0;
  std::int64_t step = 0;
  std::int64_t tap_step = 1;  // what the next tap along adds to a code
  bool stream = false;        // index goes past the caches: rows begin at lines and have whole ones
};

/// One tap of windows whose elements are vectors of `n` lanes.
struct CodeTap {
  index_t offset;  // bytes from x
  std::uint64_t code;
};

/// Windows side by side, whose taps they share but for `step` bytes from one to the next.
struct CodeLanes {
  const std::byte* x = nullptr;
  const CodeTap* tap = nullptr;  // in row-major order
  int taps = 1;
  index_t windows = 0;
  index_t step = 0;
  index_t n = 0;  // lanes, no less than a vector
  void* y = nullptr;
  index_t y_pitch = 0;  // elements from one window to the next
  std::uint8_t* code = nullptr;
  index_t code_pitch = 0;
};

/// index[i] = origin + i * step + place[code[i]].
struct CodePlaces {
  const std::int32_t* place = nullptr;  // kMostCodePlaces of them
  std::int64_t origin = 0;
  std::int64_t step = 0;
  bool stream = false;  // past the caches, where whole lines are written
};
inline constexpr int kMostCodePlaces = 16;

/// The kernels of one element type; without `planes` there are none.
struct CodeKernel {
  /// True when a NaN, or of f16 and bf16 a negative zero, was met: then what was written is not to be trusted.
  bool (*planes)(const CodeBand& band, int along, int stride) = nullptr;
  /// The same with indices; codes, which must fit a lane, are then what taps add to them.
  bool (*indexed)(const CodeBand& band, int along, int stride) = nullptr;
  bool (*lanes)(const CodeLanes& lanes) = nullptr;
  void (*places)(const std::uint8_t* code, index_t n, const CodePlaces& to, std::int64_t* index) = nullptr;
  index_t vector = 1;      // lanes of a vector
  index_t most_along = 3;  // taps along rows that `planes` takes
  bool quick = false;      // codes take little more time than values alone: by AVX-512
};

/// Windows along rows that `indexed` takes.
inline constexpr index_t kMostAlongIndexed = 3;
/// Windows along rows of at most so many taps that kernels take.
constexpr bool has_code_planes(index_t along, index_t stride, index_t most_along) {
  return along >= 2 && along <= most_along && (stride == 1 || stride == 2);
}

/// The kernels of one instruction set.
struct CodeTable {
  CodeKernel (*kernel)(Op op, Dtype dtype) = nullptr;
};

/// The table of the instruction set in use.
const CodeTable& code_table();

}  // namespace oriel::cpu
