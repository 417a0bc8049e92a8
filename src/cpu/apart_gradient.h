// Gradients of maxima and minima over windows that share no input: found and written in one go.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx = the gradient of max or min, whose places are found from x. False, and nothing is done, unless elements are f32
/// or f64, windows share no input, and rows or lanes are runs of memory that fill vectors.
bool apart_gradient(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx, int threads);

}  // namespace oriel::cpu
