// The 1x1 convolution to few channels: one pass over its input for each four of them.
#pragma once

#include "cuda/device/divider.h"
#include "nn/cuda/tile.cuh"

namespace oriel::nn::cuda {

/// The call as threads see it: each has N neighbouring places of kClasses channels.
struct HeadThreads {
  HeadCall call{};
  std::uint64_t count = 0;
  oriel::cuda::Divider<std::uint64_t> steps{};  // of N places in a row
  oriel::cuda::Divider<std::uint64_t> rows{};
};

template <int kClasses, int N>
__global__ void __launch_bounds__(256) heads(const __grid_constant__ HeadThreads t) {
  const HeadCall& c = t.call;
  auto rest = oriel::cuda::thread_number<std::uint64_t>();
  if (rest >= t.count) return;
  const auto column = static_cast<index_t>(t.steps.take(rest)) * N;
  const auto row = static_cast<index_t>(t.rows.take(rest));
  const int first = static_cast<int>(rest) * kClasses;
  float sum[kClasses][N] = {};
  const float* x = c.x.data + row * c.x.row + column;
#pragma unroll 4
  for (int i = 0; i < c.inputs; ++i, x += c.x.plane) {
    const Pack<float, N> v = oriel::cuda::load_pack<N>(x);
#pragma unroll
    for (int k = 0; k < kClasses; ++k) {
      const int own = min(first + k, c.classes - 1);  // beyond the last: that one again, not stored
      const float w = oriel::cuda::load(c.weights + static_cast<index_t>(own) * c.inputs + i);
#pragma unroll
      for (int p = 0; p < N; ++p) sum[k][p] = __fmaf_rn(v.at[p], w, sum[k][p]);
    }
  }
#pragma unroll
  for (int k = 0; k < kClasses; ++k) {
    if (first + k >= c.classes) return;
    const float bias = oriel::cuda::load(c.bias + first + k);
    Pack<float, N> out;
#pragma unroll
    for (int p = 0; p < N; ++p) out.at[p] = sum[k][p] + bias;
    keep_pack<N>(c.y.data + (first + k) * c.y.plane + row * c.y.row + column, out);
  }
}

}  // namespace oriel::nn::cuda
