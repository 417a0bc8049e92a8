// The tree of S8 over the nominal taps of a window, as steps.
#pragma once

#include <cstdint>
#include <vector>

#include "oriel/types.h"

namespace oriel::cpu {

/// Steps of a sum: a tap's number in scan order is put on a stack, kAddTaps adds the two on top.
struct TapTree {
  static constexpr std::int16_t kAddTaps = -1;

  /// For windows of `kernel` taps along each axis, in the order that sums follow.
  explicit TapTree(const Extents& kernel);

  std::vector<std::int16_t> steps;
  std::vector<std::int16_t> leaves;  // the taps in the order of the steps
  int depth = 0;                     // most sums on the stack
  bool even = true;                  // all extents are powers of two: the tree is that of its leaves
};

}  // namespace oriel::cpu
