// A way of folding values: many small planes, one behind the other, in small windows.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_stacks(const FoldJob& job);
bool stacks_pay(const FoldJob& job);
void run_stacks(const FoldJob& job, int threads);

}  // namespace oriel::cpu
