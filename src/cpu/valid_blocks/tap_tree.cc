#include "cpu/valid_blocks/tap_tree.h"

#include <algorithm>
#include <bit>

namespace oriel::cpu {
namespace {

class Maker {
 public:
  Maker(const Extents& kernel, TapTree& tree) : kernel_(kernel), tree_(tree) {
    index_t step = 1;
    for (int a = kernel.size() - 1; a >= 0; --a) {
      step_[static_cast<std::size_t>(a)] = step;
      step *= kernel[a];
      tree_.even = tree_.even && std::has_single_bit(static_cast<std::uint64_t>(kernel[a]));
    }
  }

  // The sum over all axes up to `axis` at the place `tap` of the others. The last axis is summed last.
  void add_axis(int axis, index_t tap) {
    if (axis < 0) {
      tree_.steps.push_back(static_cast<std::int16_t>(tap));
      tree_.leaves.push_back(static_cast<std::int16_t>(tap));
      tree_.depth = std::max(tree_.depth, ++size_);
      return;
    }
    auto left = static_cast<std::uint64_t>(kernel_[axis]);
    for (index_t begin = 0; left != 0;) {
      const std::uint64_t power = std::bit_floor(left);
      add_power(axis, tap, begin, static_cast<index_t>(power));
      if (begin > 0) add();
      begin += static_cast<index_t>(power);
      left -= power;
    }
  }

 private:
  void add_power(int axis, index_t tap, index_t begin, index_t taps) {
    if (taps == 1) return add_axis(axis - 1, tap + begin * step_[static_cast<std::size_t>(axis)]);
    add_power(axis, tap, begin, taps / 2);
    add_power(axis, tap, begin + taps / 2, taps / 2);
    add();
  }

  void add() {
    tree_.steps.push_back(TapTree::kAddTaps);
    --size_;
  }

  const Extents& kernel_;
  TapTree& tree_;
  std::array<index_t, kMaxRank> step_{};
  int size_ = 0;
};

}  // namespace

TapTree::TapTree(const Extents& kernel) { Maker(kernel, *this).add_axis(kernel.size() - 1, 0); }

}  // namespace oriel::cpu
