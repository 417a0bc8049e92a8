// A gradient to be computed.
#pragma once

#include <optional>

#include "cpu/plan/layout.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx from dy, and from what else the operation needs. Tensors have memory only when it is run.
struct Gradient {
  const Problem& problem;
  const ConstTensor* x = nullptr;      // of extrema, Lp, and sums that leave NaN out
  const ConstTensor* index = nullptr;  // of extrema whose places are known: i64, or codes of u8 or i32
  IndexSpace space = IndexSpace::window;
  ConstTensor dy;
  Tensor dx;

  /// Windows over kX: x, or dx without it, kY: dy, kIndex: index, or dx without it. Made when first asked for.
  const RowLayout& layout() const;
  /// Of sums: windows of the adjoint axes, over kX: dy, kY: dx. Made when first asked for.
  const RowLayout& adjoint_layout() const;
  mutable std::optional<RowLayout> known_layout = {}, known_adjoint_layout = {};
};

/// Whether terms depend on inputs: Lp, and NaN that are left out.
bool depends_on_inputs(const Problem& problem);

}  // namespace oriel::cpu
