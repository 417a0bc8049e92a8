// A strategy for sums, averages, extrema and counts of the valid taps of windows of few taps: one pass over x.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_valid_blocks(const Statistic& job);
bool valid_blocks_pay(const Statistic& job);
void run_valid_blocks(const Statistic& job, int threads);

}  // namespace oriel::cpu
