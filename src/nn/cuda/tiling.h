// What launches of tiles ask of tensors.
#pragma once

#include "cuda/device/aligned.h"
#include "nn/cuda/layers.h"

namespace oriel::nn::cuda {

inline index_t tiles_of(index_t extent, index_t tile) { return (extent + tile - 1) / tile; }

/// Whether every row of `width` places is whole vectors of 4 floats, each of them at a multiple of `bytes`.
inline bool has_vectors(const Planes& planes, index_t width, index_t bytes = 16) {
  return width % 4 == 0 && oriel::cuda::is_aligned(planes.data, bytes, sizeof(float), {planes.plane, planes.row});
}

}  // namespace oriel::nn::cuda
