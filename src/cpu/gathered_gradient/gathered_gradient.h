// Gradients of pools over valid taps, term by term.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

/// dx = the gradient: each input adds the terms of the windows that read it, in ascending order (S9).
void run_gathered_gradient(const StatisticGradient& job, int threads);

}  // namespace oriel::cpu
