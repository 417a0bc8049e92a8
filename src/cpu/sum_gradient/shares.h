// Gradients of sums, averages and Lp over any windows.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Makes a tensor of each output's share, and folds it over the adjoint axes (S9).
void run_shares(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
