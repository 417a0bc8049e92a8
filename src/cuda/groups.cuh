// Groups of neighbouring elements of a row, some of which may not be there.
#pragma once

#include "cuda/device/memory.cuh"

namespace oriel::cuda {

/// kOut neighbouring elements, those below `end`; the others are 0.
template <class T, int kOut>
__device__ __forceinline__ Pack<T, kOut> load_group(const T* at, int first, int end, bool aligned) {
  if (aligned && first + kOut <= end) return load_pack<kOut>(at);
  Pack<T, kOut> pack{};
#pragma unroll
  for (int i = 0; i < kOut; ++i) {
    if (first + i < end) pack.at[i] = load(at + i);
  }
  return pack;
}

/// Stores kOut neighbouring elements, those below `end`.
template <int kOut, class T>
__device__ __forceinline__ void store_group(T* at, const Pack<T, kOut>& out, int first, int end, bool aligned) {
  if (aligned && first + kOut <= end) return store_pack<kOut>(at, out);
#pragma unroll
  for (int i = 0; i < kOut; ++i) {
    if (first + i < end) store(at + i, out.at[i]);
  }
}

}  // namespace oriel::cuda
