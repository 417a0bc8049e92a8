// U-Nets in double, by loops over their definition: what the engine is judged by.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "oriel/nn/unet.h"

namespace oriel::nn {

/// Random weights with the key names of `source` or `milesial`; bias of 3x3 convolutions where asked.
struct NaiveUNet {
  int input_channels = 3;
  int classes = 1;
  std::vector<index_t> widths;
  bool milesial = false;
  bool bias = true;
  std::uint32_t seed = 1;

  Weights weights() const;

  struct Block {
    std::string name;
    index_t channels, height, width;
    std::vector<double> values;
  };
  /// The value of each block for the image [input_channels][height][width].
  std::vector<Block> run(const Weights& weights, const std::vector<float>& image, index_t height, index_t width) const;

  std::string level_key(int level, int at) const;
  std::string up_key(int number) const;
  std::string joined_key(int number, int at) const;
  std::string head_key() const { return milesial ? "outc.conv" : "out"; }
};

}  // namespace oriel::nn
