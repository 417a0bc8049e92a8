// The layers of a U-Net by the names that a file gives them, and their weights made ready for convolutions.
#pragma once

#include <string>
#include <vector>

#include "oriel/nn/unet.h"

namespace oriel::nn {

/// The keys of one convolution, and of the batch norm after it where there is one.
struct LayerKeys {
  std::string convolution;  ///< `….weight` and `….bias`
  std::string norm;         ///< `….weight`, `….bias`, `….running_mean`, `….running_var`; empty: none
};

/// The names that a network's author chose. Levels count from 0 at full resolution, ups from 1 as they are executed.
class KeyNames {
 public:
  static const std::vector<KeyNames>& known();

  std::string name;  ///< `source`, `milesial`
  bool skip_first = false;
  std::string first;    ///< level 0, e.g. `down_1.double_conv`
  std::string down;     ///< other levels, `{}` for the number
  int down_number = 0;  ///< what level 1 is called
  std::string up;       ///< transposed convolution
  std::string joined;   ///< the two convolutions after it
  std::string head;

  LayerKeys level(int level, int which) const;  ///< which: 0 or 1
  LayerKeys up_layer(int number, int which) const;
  std::string up_convolution(int number) const;
};

/// Where channels of a file's tensor go in the padded ones: `count` of them from `from` on, to `to` on.
struct ChannelRun {
  index_t from = 0;
  index_t to = 0;
  index_t count = 0;
};

/// Weights of a convolution with batch norm folded in, padded with zeros.
struct Folded {
  std::vector<float> weights;  ///< [outputs][inputs][taps]
  std::vector<float> bias;     ///< [outputs]
};

/// A 3x3 convolution and its batch norm, folded in double: w' = w g / sqrt(v + eps), b' = (b - m) g / sqrt(v + eps) +
/// beta. Throws Error where a value is not finite or a variance negative.
Folded fold(const Weights& weights, const LayerKeys& keys, index_t outputs, index_t inputs,
            const std::vector<ChannelRun>& runs);

/// One row of taps (dy = 0 or 1) of a 2x2 transposed convolution [inputs][outputs][2][2] as a 1x1 convolution whose
/// outputs are those of dx = 0, then those of dx = 1: weights [2 outputs][inputs]; bias [outputs].
Folded transposed_row(const Weights& weights, const std::string& key, int dy, index_t outputs, index_t inputs);

/// The 1x1 head: weights [classes][inputs], bias [classes].
Folded head_weights(const Weights& weights, const std::string& key, index_t inputs);

}  // namespace oriel::nn
