// Gradients of sums whose windows step by one, which are sums themselves.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx = the gradient of a sum or an average of f32 or f64 whose windows step by one and divide by the same number: the
/// sum of shares over mirrored windows, which the kernels of forward sums make. False where it is another problem, or
/// one that shares row by row take no longer for.
bool mirror_gradient(const Problem& problem, const ConstTensor& dy, const Tensor& dx, int threads);

}  // namespace oriel::cpu
