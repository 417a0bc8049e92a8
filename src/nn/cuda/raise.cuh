// The 2x2 transposed convolution of step 2: four 1x1 convolutions, whose results lie between each other.
#pragma once

#include "nn/cuda/tile.cuh"

namespace oriel::nn::cuda {

inline constexpr int kRaisedOutputs = 4, kRaiseTaps = 4;  // of a thread, for 4 columns

template <int kGroups, int kBands>
using RaiseShape = TileShape<kGroups, kBands, 1, 0, 1, kRaisedOutputs * kRaiseTaps, 8>;

/// The call as blocks of threads see it.
struct RaiseTiles {
  RaiseCall call{};
  index_t weight_pitch = 0;
  int row_tiles = 0;
  int column_tiles = 0;
};

template <int kGroups, int kBands, bool kAligned>
__global__ void __launch_bounds__(RaiseShape<kGroups, kBands>::kThreads, 512 / RaiseShape<kGroups, kBands>::kThreads)
    raising(const __grid_constant__ RaiseTiles t) {
  using S = RaiseShape<kGroups, kBands>;
  const RaiseCall& c = t.call;
  const TilePlace p = place_of<S>(t.row_tiles, t.column_tiles);
  const TileSource source{c.x.data, c.x.plane, c.x.row, c.inputs, c.height, c.width, c.weights, t.weight_pitch};
  float sum[kRaisedOutputs][kRaiseTaps][kVector] = {};
  over_channels<S, kAligned>(source, p, [&](const float* tile, const float* weights) {
    const Pack<float, kVector> v = shared_vector(tile + p.thread_row * S::kPitch + p.thread_column);
#pragma unroll
    for (int o = 0; o < kRaisedOutputs; ++o) {
      const Pack<float, kRaiseTaps> w = shared_vector(weights + p.group * S::kWeightsOfWarp + o * kRaiseTaps);
#pragma unroll
      for (int tap = 0; tap < kRaiseTaps; ++tap)
#pragma unroll
        for (int x = 0; x < kVector; ++x) sum[o][tap][x] = __fmaf_rn(v.at[x], w.at[tap], sum[o][tap][x]);
    }
  });
  const int row = p.row + p.thread_row, column = p.column + p.thread_column;
  if (row >= c.height || column >= c.width) return;
  const int first = (p.outputs * kGroups + p.group) * kRaisedOutputs;
#pragma unroll
  for (int o = 0; o < kRaisedOutputs; ++o) {
    if (first + o >= c.outputs) return;
    const float bias = oriel::cuda::load(c.bias + first + o);
    float* const y = c.y.data + (first + o) * c.y.plane + 2 * row * c.y.row + 2 * column;
#pragma unroll
    for (int dy = 0; dy < 2; ++dy)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Pack<float, kVector> four;
#pragma unroll
        for (int i = 0; i < kVector; ++i) four.at[i] = sum[o][2 * dy + i % 2][2 * half + i / 2] + bias;
        float* const to = y + dy * c.y.row + half * kVector;
        if constexpr (kAligned) {
          keep_pack<kVector>(to, four);
        } else {
#pragma unroll
          for (int i = 0; i < kVector; ++i)
            if (column + 2 * half + i / 2 < c.width) keep_pack<1>(to + i, {{four.at[i]}});
        }
      }
  }
}

}  // namespace oriel::nn::cuda
