// The way of long windows that overlap: kernels of more than eight taps, stepping by less than their length.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_long(const FoldJob& job);
bool long_pays(const FoldJob& job);
void run_long(const FoldJob& job, int threads);

}  // namespace oriel::cpu
