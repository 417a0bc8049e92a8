// The reductions of gathered taps, by family.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

void run_gathered_extremum(const Statistic& job, int threads);  // max min range midrange first centre count any all
void run_gathered_sum(const Statistic& job, int threads);       // sum avg lp
void run_gathered_rank(const Statistic& job, int threads);      // median quantile
void run_gathered_vote(const Statistic& job, int threads);      // mode nunique
void run_gathered_moment(const Statistic& job, int threads);    // var std rms prod geo harm lse soft

}  // namespace oriel::cpu
