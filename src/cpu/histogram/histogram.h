// Order statistics of bytes in large windows that overlap: columns of inputs are counted, and windows add their
// columns' counts. Four operations of vectors a result, whatever the window.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

bool can_histogram(const Statistic& job);
bool histogram_pays(const Statistic& job);
void run_histogram(const Statistic& job, int threads);

}  // namespace oriel::cpu
