// Backward of max and min that finds codes from x, a few planes at a time, and goes by them.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx from x and dy. False, and nothing is done, for what has no u8 codes: other ops, windows of more than 255 taps,
/// and axes that are not in the tensor's order.
bool found_gradient(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx, int threads);

/// Whether that comes before the ways that compare inputs with maxima in one go: for windows of two or three taps along
/// two or three dense axes of large tensors, where both passes have kernels of AVX-512. Measured: 3x3 step 2 and 2x2 of
/// 16x64x112x112 take half the time, 3x3 step 1 of 28x28 four fifths; smaller tensors, 2x2 step 1, and 2x2 beside
/// channels or of less than 16 MiB take longer.
bool found_first(const Problem& problem, const ConstTensor& x, const Tensor& dx);

}  // namespace oriel::cpu
