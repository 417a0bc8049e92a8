// The 3x3 convolution with bias and ReLU, and the 2x2 maxima of its result from registers.
#pragma once

#include "cuda/device/reductions.cuh"
#include "nn/cuda/tile.cuh"

namespace oriel::nn::cuda {

inline constexpr int kOwnOutputs = 8, kOwnRows = 2;  // of a thread, beside 4 columns

template <int kGroups, int kBands>
using ConvolutionShape = TileShape<kGroups, kBands, kOwnRows, 1, 9, kOwnOutputs, 4>;

/// The call as blocks of threads see it.
struct ConvolutionTiles {
  ConvolutionCall call{};
  index_t weight_pitch = 0;
  int row_tiles = 0;
  int column_tiles = 0;
};

using OwnSums = float[kOwnOutputs][kOwnRows][kVector];

/// One channel's share: 9 taps of 8 channels for the thread's 2 x 4 places.
template <class S>
__device__ __forceinline__ void multiply_taps(const float* tile, const float* weights, OwnSums& sum) {
  float v[kOwnRows + 2][kVector + 2];
#pragma unroll
  for (int r = 0; r < kOwnRows + 2; ++r) {
    const float* const row = tile + r * S::kPitch;
    const Pack<float, kVector> middle = shared_vector(row);
    v[r][0] = row[-1];
#pragma unroll
    for (int x = 0; x < kVector; ++x) v[r][x + 1] = middle.at[x];
    v[r][kVector + 1] = row[kVector];
  }
#pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
#pragma unroll
    for (int part = 0; part < kOwnOutputs; part += kVector) {
      const Pack<float, kVector> w = shared_vector(weights + tap * S::kWeightPitch + part);
#pragma unroll
      for (int o = 0; o < kVector; ++o)
#pragma unroll
        for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
          for (int x = 0; x < kVector; ++x)
            sum[part + o][r][x] = __fmaf_rn(v[r + tap / 3][x + tap % 3], w.at[o], sum[part + o][r][x]);
    }
  }
}

/// Stores those of N neighbours that lie in a row of `width`.
template <bool kAligned, int N>
__device__ __forceinline__ void keep_row(float* p, const float (&v)[N], int column, int width) {
  if constexpr (kAligned) {  // all or none
    Pack<float, N> pack;
#pragma unroll
    for (int x = 0; x < N; ++x) pack.at[x] = v[x];
    keep_pack<N>(p, pack);
  } else {
#pragma unroll
    for (int x = 0; x < N; ++x)
      if (column + x < width) keep_pack<1>(p + x, {{v[x]}});
  }
}

/// A thread's places of one channel, ReLU done, and their maxima.
template <bool kAligned>
__device__ __forceinline__ void keep_places(const ConvolutionCall& c, int channel, int row, int column,
                                            const float (&v)[kOwnRows][kVector]) {
  float* const y = c.y.data + channel * c.y.plane + row * c.y.row + column;
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r)
    if (row + r < c.height) keep_row<kAligned>(y + r * c.y.row, v[r], column, c.width);
  if (c.pooled.data == nullptr || row + 1 >= c.height) return;
  const oriel::cuda::Extreme<float> largest;
  float most[kVector / 2];
#pragma unroll
  for (int x = 0; x < kVector / 2; ++x)
    most[x] =
        largest.combine(largest.combine(v[0][2 * x], v[0][2 * x + 1]), largest.combine(v[1][2 * x], v[1][2 * x + 1]));
  float* const pooled = c.pooled.data + channel * c.pooled.plane + row / 2 * c.pooled.row + column / 2;
  keep_row<kAligned>(pooled, most, column / 2, c.width / 2);
}

template <int kGroups, int kBands, bool kAligned>
__global__ void __launch_bounds__(ConvolutionShape<kGroups, kBands>::kThreads,
                                  512 / ConvolutionShape<kGroups, kBands>::kThreads)
    convolution(const __grid_constant__ ConvolutionTiles t) {
  using S = ConvolutionShape<kGroups, kBands>;
  const ConvolutionCall& c = t.call;
  const TilePlace p = place_of<S>(t.row_tiles, t.column_tiles);
  const TileSource source{c.x.data, c.x.plane, c.x.row, c.inputs, c.height, c.width, c.weights, t.weight_pitch};
  OwnSums sum = {};
  const int at = p.thread_row * S::kPitch + p.thread_column + S::kMargin;
  over_channels<S, kAligned>(source, p, [&](const float* tile, const float* weights) {
    multiply_taps<S>(tile + at, weights + p.group * kOwnOutputs, sum);
  });
  const int row = p.row + p.thread_row, column = p.column + p.thread_column;
  if (row >= c.height || column >= c.width) return;
  const int first = (p.outputs * kGroups + p.group) * kOwnOutputs;
#pragma unroll
  for (int o = 0; o < kOwnOutputs; ++o) {
    if (first + o >= c.outputs) return;
    const float bias = oriel::cuda::load(c.bias + first + o);
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r)
#pragma unroll
      for (int x = 0; x < kVector; ++x) {
        const float v = sum[o][r][x] + bias;
        sum[o][r][x] = oriel::cuda::beats(v, 0.0F) ? v : 0.0F;  // a NaN stays
      }
    keep_places<kAligned>(c, first + o, row, column, sum[o]);
  }
}

}  // namespace oriel::nn::cuda
