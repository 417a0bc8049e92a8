// Order statistics of full windows by networks over rows of keys; what has NaN, nodata or padding goes window by
// window.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_rank_rows(const Statistic& job);
bool rank_rows_pays(const Statistic& job);
void run_rank_rows(const Statistic& job, int threads);

}  // namespace oriel::cpu
