// Gradients of sums whose windows step by one, which are sums themselves.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Of a sum or an average of f32 or f64 whose windows step by one and divide by the same number: dx is the sum of
/// shares over mirrored windows, which the kernels of forward sums make.
bool can_mirror(const Gradient& gradient);
/// Not of large planes: shares row by row take no longer.
bool mirror_pays(const Gradient& gradient);
void run_mirror(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
