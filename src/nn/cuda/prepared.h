// A network for one image size on a device: its steps, tiles, memory plan, and its weights as the kernels read them.
#pragma once

#include <vector>

#include "nn/cuda/layers.h"
#include "nn/memory_plan.h"
#include "nn/network.h"

namespace oriel::nn::cuda {

/// A step with what its kernel needs.
struct Layer {
  index_t weights = 0;  ///< in bytes, from the beginning of all weights
  index_t bias = 0;
  ConvolutionTile tile{};
  RaiseTile raise_tile{};
};

struct Prepared {
  Network network;
  std::vector<Layer> layers;  ///< by step
  MemoryPlan plan;
  std::vector<float> weights;  ///< of all layers
};

/// Plans a network for a device with that many multiprocessors; nothing of it is on the device yet.
Prepared prepare(const Weights& weights, const UNetDescription& description, index_t height, index_t width,
                 int multiprocessors);

}  // namespace oriel::nn::cuda
