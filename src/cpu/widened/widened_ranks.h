// Medians and quantiles of integers whose results are f64: those of the integers themselves, or the mean of two.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_widened_ranks(const Statistic& job);
bool widened_ranks_pay(const Statistic& job);
void run_widened_ranks(const Statistic& job, int threads);

}  // namespace oriel::cpu
