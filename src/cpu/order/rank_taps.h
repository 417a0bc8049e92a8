// Order statistics of windows whose taps are not all valid: networks over the taps of windows beside each other.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_rank_taps(const Statistic& job);
bool rank_taps_pays(const Statistic& job);
/// Any job that can_rank_rows or can_rank_taps, what networks cannot do window by window.
void run_rank_taps(const Statistic& job, int threads);

}  // namespace oriel::cpu
