// Backward of max and min that finds codes from x, a few planes at a time, and goes by them.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Of maxima and minima that have u8 codes: windows of at most 255 taps, along axes in the tensor's order.
bool can_recompute(const Gradient& gradient);
void run_recomputed(const Gradient& gradient, int threads);

/// Whether it is quicker than what compares inputs with maxima in one go: for windows of two or three taps along
/// two or three dense axes of large tensors, where both passes have kernels of AVX-512. Measured: 3x3 step 2 and 2x2 of
/// 16x64x112x112 take half the time, 3x3 step 1 of 28x28 four fifths; smaller tensors, 2x2 step 1, and 2x2 beside
/// channels or of less than 16 MiB take longer.
bool recomputing_pays_first(const Gradient& gradient);

}  // namespace oriel::cpu
