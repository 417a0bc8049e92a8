// A strategy for sums and averages of integers over boxes, of which all taps are valid: rows are added column by
// column, the sums along the row. They are exact, so that any order gives the bits of S8's.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_whole_sums(const Statistic& job);
bool whole_sums_pay(const Statistic& job);
void run_whole_sums(const Statistic& job, int threads);

}  // namespace oriel::cpu
