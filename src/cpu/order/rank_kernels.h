// The kernels of rank networks, per instruction set.
#pragma once

#include <array>

#include "cpu/networks/selection.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// Which elements are not valid (S13): NaN, and those whose key is one of two.
struct Unwanted {
  bool nan = false;
  bool value = false;
  std::uint64_t keys[2] = {};
};

/// Taps of windows beside each other, not all of which are valid.
struct TapLanes {
  const void* const* taps = nullptr;   // of each tap, one element for each window
  const void* const* masks = nullptr;  // bytes, 0 where a tap is not valid; null: none
  index_t count = 0;                   // taps
  index_t first = 0;                   // window
  index_t n = 0;                       // windows
  Unwanted unwanted;
  bool omits = false;           // NaN is not valid; else it is the result
  void* const* keys = nullptr;  // rows to be filled, one for each tap
  void* valid = nullptr;        // number of valid taps, as keys are
  void* nan = nullptr;          // bits of the last valid NaN, else 0
};

struct RankKernels {
  /// Runs a network on `lanes` lanes: rows[r] is row r. Rows in scratch memory are written, up to whole vectors.
  void (*exchange)(const Selection& selection, const void* const* rows, index_t lanes) = nullptr;
  /// keys[i] = key_of(x[i]) for n elements, in place if they are the same memory. Returns whether one is unwanted.
  bool (*load)(const void* x, index_t n, void* keys, const Unwanted& unwanted) = nullptr;
  /// y[i] = value_of(keys[i]).
  void (*store)(const void* keys, index_t n, void* y) = nullptr;
  /// Fills keys, valid and nan. Returns whether a tap is not valid, or NaN.
  bool (*gather)(const TapLanes& lanes) = nullptr;
  /// Makes the first low[i] taps of window i that are not valid the least key, and the others the greatest.
  void (*pad)(const TapLanes& lanes, const void* low) = nullptr;
};

/// Lanes of rows are multiples of this many bytes, and rows are readable and writable this far beyond their last lane.
inline constexpr index_t kRankVectorBytes = 64;

struct RankTable {
  RankKernels (*of)(Dtype dtype) = nullptr;
};

const RankTable& rank_table();  // of the instruction set in use

}  // namespace oriel::cpu
