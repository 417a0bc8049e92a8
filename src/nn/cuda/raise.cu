#include "nn/cuda/raise.cuh"

#include "cuda/device/launch.cuh"
#include "nn/cuda/tiling.h"

namespace oriel::nn::cuda {
namespace {

template <int kGroups, int kBands>
void launch_tiles(const RaiseCall& call, void* stream) {
  using S = RaiseShape<kGroups, kBands>;
  const index_t outputs = kGroups * kRaisedOutputs;
  RaiseTiles t;
  t.call = call;
  t.weight_pitch = tiles_of(call.outputs, outputs) * S::kWeightPitch;
  t.row_tiles = static_cast<int>(tiles_of(call.height, S::kTileRows));
  t.column_tiles = static_cast<int>(tiles_of(call.width, S::kTileColumns));
  const index_t blocks = tiles_of(call.outputs, outputs) * t.row_tiles * t.column_tiles;
  const bool aligned = has_vectors(call.x, call.width) && has_vectors(call.y, call.width);
  oriel::cuda::launch(aligned ? &raising<kGroups, kBands, true> : &raising<kGroups, kBands, false>,
                      blocks * S::kThreads, S::kThreads, S::kSharedBytes, stream, t);
}

}  // namespace

RaiseTile pick_raise_tile(index_t outputs) { return outputs <= 8 ? RaiseTile{2, 4} : RaiseTile{8, 1}; }

void raise(const RaiseCall& call, RaiseTile tile, void* stream) {
  tile.groups == 2 ? launch_tiles<2, 4>(call, stream) : launch_tiles<8, 1>(call, stream);
}

}  // namespace oriel::nn::cuda
