#include "nn/cuda/convolution.cuh"

#include "cuda/device/launch.cuh"
#include "nn/cuda/tiling.h"

namespace oriel::nn::cuda {
namespace {

index_t blocks_of(ConvolutionTile tile, index_t outputs, index_t height, index_t width) {
  using S = ConvolutionShape<1, 1>;
  return tiles_of(outputs, tile.outputs()) * tiles_of(height, S::kTileRows * tile.bands) *
         tiles_of(width, S::kTileColumns);
}

template <int kGroups, int kBands>
void launch_tiles(const ConvolutionCall& call, void* stream) {
  using S = ConvolutionShape<kGroups, kBands>;
  ConvolutionTiles t;
  t.call = call;
  t.weight_pitch = tiles_of(call.outputs, S::kWeightPitch) * S::kWeightPitch;
  t.row_tiles = static_cast<int>(tiles_of(call.height, S::kTileRows));
  t.column_tiles = static_cast<int>(tiles_of(call.width, S::kTileColumns));
  const bool aligned =
      has_vectors(call.x, call.width) && has_vectors(call.y, call.width) && has_vectors(call.pooled, call.width, 8);
  const index_t blocks = tiles_of(call.outputs, S::kWeightPitch) * t.row_tiles * t.column_tiles;
  oriel::cuda::launch(aligned ? &convolution<kGroups, kBands, true> : &convolution<kGroups, kBands, false>,
                      blocks * S::kThreads, S::kThreads, S::kSharedBytes, stream, t);
}

}  // namespace

ConvolutionTile pick_tile(index_t outputs, index_t height, index_t width, int multiprocessors) {
  if (outputs <= 8) return {1, 4};
  if (outputs <= 16) return {2, 2};
  if (outputs <= 32 || blocks_of({8, 1}, outputs, height, width) < 2 * multiprocessors) return {4, 1};
  return {8, 1};
}

void convolve(const ConvolutionCall& call, ConvolutionTile tile, void* stream) {
  switch (tile.groups) {
    case 1:
      return launch_tiles<1, 4>(call, stream);
    case 2:
      return launch_tiles<2, 2>(call, stream);
    case 4:
      return launch_tiles<4, 1>(call, stream);
    default:
      return launch_tiles<8, 1>(call, stream);
  }
}

}  // namespace oriel::nn::cuda
