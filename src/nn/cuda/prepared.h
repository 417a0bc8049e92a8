// A network for one image size on a device: its steps, tiles, memory plan, and its weights as the kernels read them.
#pragma once

#include <vector>

#include "nn/cuda/trial.h"
#include "nn/network/memory_plan.h"
#include "nn/network/network.h"

namespace oriel::nn::cuda {

/// A step with what its kernel needs.
struct Layer {
  index_t weights = 0;  ///< in bytes, from the beginning of all weights
  index_t bias = 0;
  ConvolutionTile tile{};
  RaiseTile raise_tile{};
  std::optional<cudnn::Algorithm> algorithm{};  ///< of a convolution that is not Oriel's
  int workspace = -1;                           ///< the number of a tensor of the plan that is the algorithm's
  double milliseconds = 0;                      ///< of the trial that picked it
};

struct Prepared {
  Network network;
  std::vector<Layer> layers;  ///< by step
  MemoryPlan plan;
  std::vector<float> weights;  ///< of all layers
};

/// Plans a network for a device with that many multiprocessors; nothing of it is on the device yet. `trial` picks what
/// carries convolutions out; null: Oriel's kernels do.
Prepared prepare(const Weights& weights, const UNetDescription& description, index_t height, index_t width,
                 int multiprocessors, Trial* trial);

}  // namespace oriel::nn::cuda
