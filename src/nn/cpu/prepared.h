// A network for one image size: its steps, the convolutions that carry them out with their weights, its memory.
#pragma once

#include <vector>

#include "nn/cpu/convolution.h"
#include "nn/network/memory_plan.h"
#include "nn/network/network.h"

namespace oriel::nn {

/// A step with what it needs to run.
struct Work {
  std::vector<Convolution> convolutions{};  ///< one; two rows of taps of a transposed one, or two joined inputs
  std::vector<float> weights{};             ///< of the head
  std::vector<float> bias{};                ///< of the head and of transposed convolutions
  int scratch = -1;                         ///< numbers of tensors of the plan that live in this step only
  int row = -1;
  double milliseconds = 0;
};

/// What UNet::prepare() makes; engines share it.
struct Prepared {
  Network network;
  std::vector<Work> works;
  MemoryPlan plan;
  index_t weight_bytes = 0;
  bool channels_last = false;
};

/// Picks the convolutions, lays out their weights, plans the memory. To be called in the ThreadScope that the network
/// will run in.
Prepared prepare(const Weights& weights, const UNetDescription& description, const UNetOptions& options, index_t height,
                 index_t width);

}  // namespace oriel::nn
