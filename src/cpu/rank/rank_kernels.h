// The kernels of rank networks, per instruction set.
#pragma once

#include "cpu/rank/selection.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// Which elements are not valid (S13): NaN, and those whose key is one of two.
struct Unwanted {
  bool nan = false;
  bool value = false;
  std::uint64_t keys[2] = {};
};

struct RankKernels {
  /// Runs a network on `lanes` lanes: rows[r] is row r. Rows in scratch memory are written up to whole vectors.
  void (*exchange)(const Selection& selection, void* const* rows, index_t lanes) = nullptr;
  /// keys[i] = key_of(x[i]) for n elements, in place if they are the same memory. Returns whether one is unwanted.
  bool (*load)(const void* x, index_t n, void* keys, const Unwanted& unwanted) = nullptr;
  /// y[i] = value_of(keys[i]).
  void (*store)(const void* keys, index_t n, void* y) = nullptr;
};

/// Lanes of rows are multiples of this many bytes, and rows are readable and writable this far beyond their last lane.
inline constexpr index_t kRankVectorBytes = 64;

struct RankTable {
  RankKernels (*of)(Dtype dtype) = nullptr;
};

const RankTable& rank_table();  // of the instruction set in use

}  // namespace oriel::cpu
