// The 2x2 maxima of a tensor, step 2, for convolutions that do not make them.
#pragma once

#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "nn/cuda/tile.cuh"

namespace oriel::nn::cuda {

/// The call as threads see it: each has N neighbouring maxima of a row.
struct PoolThreads {
  PoolCall call{};
  std::uint64_t count = 0;
  oriel::cuda::Divider<std::uint64_t> steps{};  // of N maxima in a row
  oriel::cuda::Divider<std::uint64_t> rows{};
};

template <int N>
__global__ void __launch_bounds__(256) maxima(const __grid_constant__ PoolThreads t) {
  const PoolCall& c = t.call;
  auto rest = oriel::cuda::thread_number<std::uint64_t>();
  if (rest >= t.count) return;
  const auto column = static_cast<index_t>(t.steps.take(rest)) * N;
  const auto row = static_cast<index_t>(t.rows.take(rest)), channel = static_cast<index_t>(rest);
  const float* const x = c.x.data + channel * c.x.plane + 2 * row * c.x.row + 2 * column;
  constexpr int kStep = N == 1 ? 1 : 2 * N;  // single ones need no alignment
  float v[2][2 * N];
#pragma unroll
  for (int r = 0; r < 2; ++r)
#pragma unroll
    for (int i = 0; i < 2 * N; i += kStep) {
      const Pack<float, kStep> pack = oriel::cuda::load_pack<kStep>(x + r * c.x.row + i);
#pragma unroll
      for (int k = 0; k < kStep; ++k) v[r][i + k] = pack.at[k];
    }
  const oriel::cuda::Extreme<float> largest;
  Pack<float, N> most;
#pragma unroll
  for (int i = 0; i < N; ++i)
    most.at[i] =
        largest.combine(largest.combine(v[0][2 * i], v[0][2 * i + 1]), largest.combine(v[1][2 * i], v[1][2 * i + 1]));
  keep_pack<N>(c.y.data + channel * c.y.plane + row * c.y.row + column, most);
}

}  // namespace oriel::nn::cuda
