// Windows of more than eight taps that step by less than their length.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_long(const FoldJob& job);
bool long_pays(const FoldJob& job);
void run_long(const FoldJob& job, int threads);

/// Of integer sums: by what enters a window and what leaves it.
bool can_running(const FoldJob& job);
bool running_pays(const FoldJob& job);
void run_running(const FoldJob& job, int threads);

}  // namespace oriel::cpu
