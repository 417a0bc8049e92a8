// Convolutions as products of tiles: weights of some output channels times pixels of a rectangle, chunk by chunk of the
// input channels. A chunk comes by asynchronous copies into one half of the block's shared memory while the other half
// is computed with.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/device/memory.cuh"
#include "nn/cuda/layers.h"

namespace oriel::nn::cuda {

using oriel::cuda::Pack;

inline constexpr int kVector = oriel::cuda::kLanes<float>;

/// Threads of a warp lie as 4 rows of 8, each with 4 columns of the tile and kRows rows of it. Warps differ in their
/// channels (groups) and in their rows (bands).
template <int kGroups, int kBands, int kRows, int kHalo, int kWeightRows, int kWarpWeights, int kMostChannels>
struct TileShape {
  static constexpr int kWarp = 32, kWarpRows = 4, kWarpColumns = 8;
  static constexpr int kThreads = kWarp * kGroups * kBands;
  static constexpr int kOwnRows = kRows;
  static constexpr int kBandRows = kWarpRows * kRows;
  static constexpr int kTileRows = kBandRows * kBands;
  static constexpr int kTileColumns = kWarpColumns * kVector;
  static constexpr int kChannels = kMostChannels;  // of a chunk
  // The tile's inputs: `halo` more rows on both sides, and a whole vector of columns where a halo is needed.
  static constexpr int kReach = kHalo;
  static constexpr int kMargin = kHalo > 0 ? kVector : 0;
  static constexpr int kInputRows = kTileRows + 2 * kHalo;
  static constexpr int kPitch = kTileColumns + 2 * kMargin;
  static constexpr int kPlane = kInputRows * kPitch;
  // A channel's weights: rows of those of the tile's output channels.
  static constexpr int kRowsOfWeights = kWeightRows;
  static constexpr int kWeightsOfWarp = kWarpWeights;
  static constexpr int kWeightPitch = kWarpWeights * kGroups;
  static constexpr int kWeights = kWeightRows * kWeightPitch;
  static constexpr int kHalf = kChannels * (kPlane + kWeights);  // floats of half of the shared memory
  static constexpr int kSharedBytes = 2 * kHalf * static_cast<int>(sizeof(float));
};

/// What a block's tile is cut from.
struct TileSource {
  const float* x = nullptr;
  index_t plane = 0;
  index_t row = 0;
  int inputs = 0;
  int height = 0;
  int width = 0;
  const float* weights = nullptr;
  index_t weight_pitch = 0;  // between rows of weights
};

/// Where a block's tile begins, and a thread's part of it.
struct TilePlace {
  int outputs = 0;  // number of the tile along the output channels
  int row = 0;      // the tile's first
  int column = 0;
  int group = 0;                          // the thread's warp's
  int thread_row = 0, thread_column = 0;  // in the tile
};

template <class S>
__device__ __forceinline__ TilePlace place_of(int row_tiles, int column_tiles) {
  const int tile = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % S::kWarp, warp = thread / S::kWarp;
  const int groups = S::kWeightPitch / S::kWeightsOfWarp;
  TilePlace p;
  p.column = tile % column_tiles * S::kTileColumns;
  p.row = tile / column_tiles % row_tiles * S::kTileRows;
  p.outputs = tile / column_tiles / row_tiles;
  p.group = warp % groups;
  p.thread_row = warp / groups * S::kBandRows + lane / S::kWarpColumns * S::kOwnRows;
  p.thread_column = lane % S::kWarpColumns * kVector;
  return p;
}

/// Four floats of shared memory, or of registers, at a multiple of 16 bytes.
__device__ __forceinline__ Pack<float, kVector> shared_vector(const float* p) {
  return *reinterpret_cast<const Pack<float, kVector>*>(p);
}

/// Stores for the next layer, which will read them from the second cache.
template <int N>
__device__ __forceinline__ void keep_pack(float* p, const Pack<float, N>& v) {
  using W = typename oriel::cuda::Word<static_cast<int>(sizeof(float)) * N>::type;
  __stcg(reinterpret_cast<W*>(p), std::bit_cast<W>(v));
}

/// Begins to copy the tile's inputs of `channels` channels; zeros where there is none.
template <class S, bool kAligned>
__device__ __forceinline__ void copy_inputs(float* to, const TileSource& s, const TilePlace& p, int first,
                                            int channels) {
  constexpr int kStep = kAligned ? kVector : 1;
  constexpr int kFirst = kAligned ? 0 : S::kMargin - S::kReach;
  constexpr int kSteps = kAligned ? S::kPitch / kVector : S::kTileColumns + 2 * S::kReach;
  for (int i = static_cast<int>(threadIdx.x); i < channels * S::kInputRows * kSteps; i += S::kThreads) {
    const int at = i % kSteps * kStep + kFirst, r = i / kSteps % S::kInputRows, c = i / kSteps / S::kInputRows;
    const int y = p.row - S::kReach + r, x = p.column - S::kMargin + at;
    float* const target = to + c * S::kPlane + r * S::kPitch + at;
    if (y >= 0 && y < s.height && x >= 0 && x < s.width) {
      __pipeline_memcpy_async(target, s.x + (first + c) * s.plane + y * s.row + x, kStep * sizeof(float));
    } else {
      *reinterpret_cast<Pack<float, kStep>*>(target) = Pack<float, kStep>{};
    }
  }
}

template <class S>
__device__ __forceinline__ void copy_weights(float* to, const TileSource& s, const TilePlace& p, int first,
                                             int channels) {
  constexpr int kSteps = S::kWeightPitch / kVector;
  const float* const from = s.weights + static_cast<index_t>(p.outputs) * S::kWeightPitch;
  for (int i = static_cast<int>(threadIdx.x); i < channels * S::kRowsOfWeights * kSteps; i += S::kThreads) {
    const index_t row = static_cast<index_t>(first) * S::kRowsOfWeights + i / kSteps;
    __pipeline_memcpy_async(to + i * kVector, from + row * s.weight_pitch + i % kSteps * kVector,
                            kVector * sizeof(float));
  }
}

/// multiply(inputs of a channel's tile [kInputRows][kPitch], its weights [kRowsOfWeights][kWeightPitch]) for every
/// input channel in ascending order.
template <class S, bool kAligned, class Multiply>
__device__ __forceinline__ void over_channels(const TileSource& s, const TilePlace& p, const Multiply& multiply) {
  float* const shared = reinterpret_cast<float*>(oriel::cuda::dynamic_shared);
  const auto copy = [&](int first) {
    float* const half = shared + first / S::kChannels % 2 * S::kHalf;
    const int channels = min(S::kChannels, s.inputs - first);
    copy_inputs<S, kAligned>(half, s, p, first, channels);
    copy_weights<S>(half + S::kChannels * S::kPlane, s, p, first, channels);
    __pipeline_commit();
  };
  copy(0);
  for (int first = 0; first < s.inputs; first += S::kChannels) {
    __pipeline_wait_prior(0);
    __syncthreads();  // this chunk is there for all, and all have done with the other half
    if (first + S::kChannels < s.inputs) copy(first + S::kChannels);
    const float* const half = shared + first / S::kChannels % 2 * S::kHalf;
    const float* const weights = half + S::kChannels * S::kPlane;
    const int channels = min(S::kChannels, s.inputs - first);
#pragma unroll 1
    for (int c = 0; c < channels; ++c) multiply(half + c * S::kPlane, weights + c * S::kWeights);
  }
}

}  // namespace oriel::nn::cuda
