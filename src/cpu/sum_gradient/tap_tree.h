// Which outputs of a pool an input adds shares of, and in which tree (S9), from the adjoint axis.
#pragma once

#include "cpu/runtime/arena.h"
#include "cpu/sum_gradient/share_kernels.h"
#include "oriel/window.h"

namespace oriel::cpu {

/// The most shares that an input adds along an adjoint axis.
index_t most_shares(const Axis& adjoint);
/// Those of input i (the adjoint's output).
SharedTaps shared_taps(const Axis& adjoint, index_t i);

/// How a row along an adjoint axis is made from a row of shares, with `lanes` elements at each place. `before` and
/// `after` are how many outputs beyond the row it looks at.
struct RowSpread {
  RowSpread(const Axis& adjoint, index_t lanes, Arena& arena);

  Spread how;
  index_t before = 0;
  index_t after = 0;

 private:
  bool is_repeated(index_t period);
  void list(const Axis& adjoint, SharedTaps* taps) const;
  void shorten(index_t outputs, Arena& arena);
};

}  // namespace oriel::cpu
