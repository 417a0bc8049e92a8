// One window over all of a plane that is one run of memory, whose elements are folded as they come.
#pragma once

#include <array>
#include <bit>
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
};

/// Most inputs of a pooled axis before the last one.
inline constexpr int kGlobalBits = 24;
inline constexpr index_t kMostGlobalRows = (index_t{1} << kGlobalBits) - 1;

/// Rows of sums, each as long as the plane's rows, that a sum by pairs of rows keeps; 0 if pairs are not summed: of
/// planes in the first cache some columns at a time are.
constexpr index_t pair_rows(const GlobalPlane& plane, std::size_t elem_bytes) {
  constexpr index_t kFewestBytes = 8192, kFewestColumns = 32, kMostSums = index_t{1} << 15;
  const bool large = plane.elems * static_cast<index_t>(elem_bytes) >= kFewestBytes && plane.columns > kFewestColumns;
  if (plane.levels != 1 || plane.count[0] < 2 || !large) return 0;
  const index_t rows = std::bit_width(static_cast<std::uint64_t>(plane.count[0] / 2));
  return rows * plane.columns <= kMostSums ? rows : 0;
}

/// The kernel of one reduction and element type; without `fold` there is none.
struct GlobalKernel {
  /// Folds planes that lie one behind the other into a dense row of results: elements, or the accumulators of sums.
  /// Reads `vector` elements from the begin of every row. `sums` has room for the accumulators of a row, of pair_rows
  /// more of them, and of a vector.
  void (*fold)(const void* x, const GlobalPlane& plane, index_t planes, void* sums, void* out) = nullptr;
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
