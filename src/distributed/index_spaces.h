// From taps of a window to places of the whole tensor.
#pragma once

#include <vector>

#include "oriel/distributed.h"
#include "oriel/tensor.h"

namespace oriel::distributed {

/// Turns places of a box of outputs that count taps of the window into indices of another space.
class Translation {
 public:
  Translation(const Problem& problem, const Box& outputs, IndexSpace space);
  /// Does so for `places`, an i64 tensor of a part of the box.
  void run(const Box& part, const Tensor& places) const;

 private:
  index_t base(int d, index_t o) const {
    return base_[static_cast<std::size_t>(d)][static_cast<std::size_t>(o - outputs_.begin[d])];
  }
  index_t distance(index_t code) const;

  Problem problem_;
  Box outputs_;
  Extents pitch_;                           // of an index, by tensor axis
  std::vector<std::vector<index_t>> base_;  // by tensor axis and output: what tap 0 adds
  std::vector<index_t> distance_;           // of a tap from tap 0, unless there are very many
};

}  // namespace oriel::distributed
