// The tree of S8 over any number of values, with partial sums in registers.
#pragma once

#include <cuda_runtime.h>

namespace oriel::cuda {

/// Values of a tree are taken by so many: their loads are under way together.
inline constexpr int kTreeUnit = 8;
/// Levels of partial sums of units: trees have fewer than most_tree_values() values.
inline constexpr int kTreeLevels = 8;
constexpr int most_tree_values(int levels) { return kTreeUnit << levels; }

/// P_kCount(first) of S8, kCount a power of two; `get` gives a value by its number.
template <int kCount, class R, class Get>
__device__ __forceinline__ auto fold_power(const R& r, int first, Get get) {
  if constexpr (kCount == 1)
    return get(first);
  else
    return r.combine(fold_power<kCount / 2>(r, first, get), fold_power<kCount / 2>(r, first + kCount / 2, get));
}

/// The fold of get(0) ... get(count - 1), count in [1, most_tree_values(kLevels)), in the order of S8.
template <int kLevels = kTreeLevels, class R, class Get>
__device__ __forceinline__ typename R::A fold_tree(const R& r, int count, Get get) {
  using A = typename R::A;
  A sum = r.none();
  bool first = true;
  const auto join = [&](A part) {
    sum = first ? part : r.combine(sum, part);
    first = false;
  };
  const int units = count / kTreeUnit;
  int at = 0;
  if (units > 0) {
    A kept[kLevels]{};  // [l]: the sum of 2^l units
    for (int u = 0; u < units; ++u, at += kTreeUnit) {
      A next = fold_power<kTreeUnit>(r, at, get);
      bool carries = true;
#pragma unroll
      for (int l = 0; l < kLevels; ++l) {
        if (carries && (u >> l & 1) != 0) {
          next = r.combine(kept[l], next);
        } else if (carries) {
          kept[l] = next;
          carries = false;
        }
      }
    }
#pragma unroll
    for (int l = kLevels - 1; l >= 0; --l) {
      if ((units >> l & 1) != 0) join(kept[l]);
    }
  }
  if ((count & 4) != 0) {
    join(fold_power<4>(r, at, get));
    at += 4;
  }
  if ((count & 2) != 0) {
    join(fold_power<2>(r, at, get));
    at += 2;
  }
  if ((count & 1) != 0) join(get(at));
  return sum;
}

}  // namespace oriel::cuda
