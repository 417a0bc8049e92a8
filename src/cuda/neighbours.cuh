// Values of the neighbouring lanes of a warp. All 32 lanes call.
#pragma once

#include <cuda_runtime.h>

namespace oriel::cuda {

/// Lanes of a warp.
inline constexpr int kWarp = 32;

/// v of the lane before this one; lane 0 gets its own.
template <class A>
__device__ __forceinline__ A from_lane_before(A v) {
  if constexpr (sizeof(A) < 4)
    return static_cast<A>(__shfl_up_sync(0xffffffffU, static_cast<int>(v), 1));
  else
    return __shfl_up_sync(0xffffffffU, v, 1);
}

/// v of the lane after this one; the last lane gets its own.
template <class A>
__device__ __forceinline__ A from_lane_after(A v) {
  if constexpr (sizeof(A) < 4)
    return static_cast<A>(__shfl_down_sync(0xffffffffU, static_cast<int>(v), 1));
  else
    return __shfl_down_sync(0xffffffffU, v, 1);
}

}  // namespace oriel::cuda
