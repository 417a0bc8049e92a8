// Backward of max and min for floating types: a box of inputs at a time, which gather what their windows send.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx from dy, and from x or, where that is null, from `index`. False when it did not, and nothing is written: the
/// problem is not one for it, or an index is not of its window.
bool gather_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor* index, IndexSpace space,
                     const ConstTensor& dy, const Tensor& dx, int threads);

}  // namespace oriel::cpu
