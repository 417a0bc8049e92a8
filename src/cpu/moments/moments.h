// Sums, counts, variances and the like over the valid taps of box windows: rows of states are folded axis by axis, so
// that windows share what they have in common.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_moments(const Statistic& job);
void run_moments(const Statistic& job, int threads);

}  // namespace oriel::cpu
