// Backward of max and min that finds codes from x, a few planes at a time, and goes by them.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx from x and dy. False, and nothing is done, for what has no u8 codes: other ops, windows of more than 255 taps,
/// and axes that are not in the tensor's order.
bool found_gradient(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx, int threads);

}  // namespace oriel::cpu
