// Logarithms of exponentials, and means weighted by them, over box windows: many windows at a time.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_soft(const Statistic& job);
void run_soft(const Statistic& job, int threads);

}  // namespace oriel::cpu
