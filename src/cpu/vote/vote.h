// A strategy for modes and numbers of distinct values of integers in windows of few taps.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_vote(const Statistic& job);
void run_vote(const Statistic& job, int threads);

}  // namespace oriel::cpu
