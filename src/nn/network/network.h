// A U-Net for one image size as a sequence of steps on tensors.
#pragma once

#include <string>
#include <vector>

#include "nn/network/layers.h"
#include "nn/network/memory_plan.h"

namespace oriel::nn {

/// A tensor of the sequence, [channels/b][height][width][b], or [channels][height][width] where it is plain.
struct NetworkTensor {
  index_t channels = 0;  ///< padded to whole blocks
  index_t height = 0;
  index_t width = 0;
  index_t plane = 0;  ///< pitch between channels where a block is one channel, in elements
  index_t bytes = 0;
  bool plain = false;
  Dtype dtype = Dtype::f32;
  int after = -1;  ///< see Lifetime
};

enum class StepKind : std::uint8_t { copy_in, convolution, pool, up, head, copy_out };

struct NetworkStep {
  StepKind kind = StepKind::convolution;
  std::string block;    ///< `down_1` …
  std::string layer;    ///< `conv1`, `conv2`, `pool`, `up`, `head`; `in` and `out` for the copies
  int input = -1;       ///< numbers of tensors
  int input_more = -1;  ///< the second part of a joined input, which lies behind the first
  int output = -1;
  int pooled = -1;                 ///< of a convolution: its output's 2x2 maxima, where it makes them too
  LayerKeys keys{};                ///< of a convolution; for others `convolution` alone
  std::vector<ChannelRun> runs{};  ///< of a convolution: where the file's input channels are
  bool ends_block = false;         ///< the output is the block's value
  index_t channels = 0;            ///< of the output, without padding
  index_t multiplications = 0;
};

struct Network {
  std::vector<NetworkTensor> tensors;
  std::vector<NetworkStep> steps;

  /// From the step that writes a tensor to the last one that reads it, by tensor.
  std::vector<Lifetime> lifetimes() const;
};

/// What the sequence depends on beside the description.
struct NetworkForm {
  index_t height = 0;
  index_t width = 0;
  int block = 16;              ///< channels of a block
  Dtype dtype = Dtype::f32;    ///< of activations
  bool channels_last = false;  ///< each tensor is one block of all its channels
  bool plain_image = true;     ///< whether the first convolution reads an image without padded channels
  bool fused_pools = false;    ///< convolutions make the maxima: there are no steps for them
  index_t plane_multiple = 1;  ///< of which the elements of a channel are made a multiple, but in plain tensors
};

Network make_network(const UNetDescription& description, const NetworkForm& form);

}  // namespace oriel::nn
