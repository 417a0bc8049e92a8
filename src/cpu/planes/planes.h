// A way of folding values: planes whose rows are runs of memory, in small windows.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_planes(const FoldJob& job);
bool planes_pay(const FoldJob& job);
void run_planes(const FoldJob& job, int threads);

}  // namespace oriel::cpu
