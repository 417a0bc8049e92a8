// Backward sums in one go: shares of outputs, row by row, added up and spread over the inputs while they are in the
// first cache.
#pragma once

#include "cpu/layout.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx = the gradient of a sum or an average (S9); of Lp where `x` is given, and dy are shares, in the accumulator type.
/// False, and nothing is written, where this way does not suit the problem.
bool fold_shares_by_rows(const Problem& problem, const ConstTensor& dy, const Tensor& dx, const ConstTensor* x,
                         int threads);

}  // namespace oriel::cpu
