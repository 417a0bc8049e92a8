// What an average counts along an axis (S5), of windows whose taps stand together: without a division.
#pragma once

#include <cuda_runtime.h>

#include "oriel/window.h"

namespace oriel::cuda {

/// The places that count: those of inputs, or with the padding.
struct Counted {
  int begin = 0, end = 0;

  Counted() = default;
  Counted(const Axis& axis, bool include_pad)
      : begin(include_pad ? static_cast<int>(axis.counted.begin) : 0),
        end(static_cast<int>(include_pad ? axis.counted.end : axis.in)) {}

  /// Of the window of K taps from `start` on, at least one of which counts.
  template <int K>
  __device__ __forceinline__ int taps(int start) const {
    return min(start + K, end) - max(start, begin);
  }
};

}  // namespace oriel::cuda
