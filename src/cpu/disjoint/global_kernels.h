// One window over all of a plane that is one run of memory, whose elements are folded as they come.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "oriel/problem.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// The pooled axes of a plane, the last of which runs along its rows. Distances are in elements.
struct GlobalPlane {
  int levels = 0;                  // pooled axes before the last one
  std::array<index_t, 2> count{};  // their inputs, in the order that sums follow
  std::array<index_t, 2> pitch{};  //
  index_t columns = 1;             // inputs of the last one
  index_t elems = 1;               // of the plane, and from one to the next
  bool far = false;                // in no cache of a processor's own
};

/// Most inputs of a pooled axis before the last one.
inline constexpr int kGlobalBits = 24;
inline constexpr index_t kMostGlobalRows = (index_t{1} << kGlobalBits) - 1;

/// Rows shorter than a page, of which several are read before they are added if they are far.
constexpr bool has_short_rows(const GlobalPlane& plane) {
  constexpr index_t kShort = 1024;  // elements
  return plane.levels == 1 && plane.columns < kShort;
}

/// Rows whose tree is kept in registers, so that sums are written once for so many.
inline constexpr int kMostRows = 8;
constexpr index_t rows_at_once(const GlobalPlane& plane) {
  constexpr index_t kShortest = 96;
  if (!has_short_rows(plane)) return kMostRows;
  return plane.far && plane.columns < kShortest ? 2 : 4;
}

/// Rows of sums that a sum of n rows keeps: of `at_once` of them, of twice as many, and so on.
constexpr index_t kept_rows(index_t n, index_t at_once) {
  return std::bit_width(static_cast<std::uint64_t>(n / at_once));
}

/// Rows of a volume whose sums over its first axis are made together: an even number of them that the first cache has
/// room for, or of volumes beyond the caches more, so that longer runs are read.
constexpr index_t slab_rows(const GlobalPlane& plane) {
  constexpr index_t kLarge = index_t{4} << 20;
  const index_t most = plane.elems < kLarge ? 1024 : 8192;
  index_t rows = 2;
  while (2 * rows * plane.columns <= most) rows *= 2;
  return rows;
}

/// Whether sums read a plane row by row, as it lies. Of one in the first cache some columns are summed at a time.
constexpr bool sums_by_rows(const GlobalPlane& plane, std::size_t elem_bytes) {
  constexpr index_t kFewestBytes = 8192, kFewestColumns = 32;
  if (plane.levels == 0 || plane.elems * static_cast<index_t>(elem_bytes) < kFewestBytes) return false;
  return plane.levels > 1 || plane.columns > kFewestColumns;
}

/// Accumulators that sums of a plane need room for, if a vector has so many.
constexpr index_t room_for_sums(const GlobalPlane& plane, std::size_t elem_bytes, index_t vector) {
  const index_t row = std::max(plane.columns, vector);
  if (!sums_by_rows(plane, elem_bytes)) return row + vector;
  const index_t first = 1 + kept_rows(plane.count[0], rows_at_once(plane));
  if (plane.levels == 1) return first * row + vector;
  return (1 + kept_rows(plane.count[1], 2)) * row + first * std::max(slab_rows(plane) * plane.columns, vector) + vector;
}

/// The kernel of one reduction and element type; without `fold` there is none.
struct GlobalKernel {
  /// Folds planes that lie one behind the other into a dense row of results: elements, or the accumulators of sums.
  /// Reads `vector` elements from the begin of every row. `sums` has room_for_sums.
  void (*fold)(const void* x, const GlobalPlane& plane, index_t planes, void* sums, void* out) = nullptr;
  /// Sums the columns of one plane into the first `columns` of `sums`, which has room_for_sums. Rows are no shorter
  /// than `vector`. Null of extrema.
  void (*sum_columns)(const void* x, const GlobalPlane& plane, void* sums) = nullptr;
  index_t vector = 1;
  index_t result_bytes = 0;
  bool lowered = false;  // results are elements of y
};

/// The kernels of one instruction set.
struct GlobalTable {
  GlobalKernel (*global)(Op op, Dtype dtype) = nullptr;
};

/// The table of the instruction set in use.
const GlobalTable& global_table();

}  // namespace oriel::cpu
