// The way of integer sums of long windows that overlap: by what enters and what leaves.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_running(const FoldJob& job);
bool running_pays(const FoldJob& job);
void run_running(const FoldJob& job, int threads);

}  // namespace oriel::cpu
