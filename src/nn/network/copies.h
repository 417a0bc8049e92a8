// Copies of activations, counted by the engines where they make them.
#pragma once

#include <vector>

#include "nn/network/network.h"

namespace oriel::nn {

class Copies {
 public:
  /// One row for each block in order, nothing copied.
  void start(const Network& network) {
    rows_.clear();
    for (const NetworkStep& step : network.steps)
      if (rows_.empty() || rows_.back().block != step.block) rows_.push_back({step.block, 0});
  }
  void count(const NetworkStep& step) {
    for (UNetCopies& row : rows_)
      if (row.block == step.block) ++row.copies;
  }
  const std::vector<UNetCopies>& rows() const { return rows_; }

 private:
  std::vector<UNetCopies> rows_;
};

}  // namespace oriel::nn
