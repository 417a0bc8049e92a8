// Gradients over windows that share no input, written in one go.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Of max, min, sum or an average, if windows share no input, rows or lanes are runs of memory that fill vectors, and
/// there are kernels: f32 and f64; of 16 bits sums only. Places of extrema are found from x; sums do not look at it.
bool can_disjoint(const Gradient& gradient);
/// Not if there are lanes, but few: something else may be quicker.
bool disjoint_fills_vectors(const Gradient& gradient);
void run_disjoint(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
