// A way of folding values: many small planes, one behind the other, in small windows.
#pragma once

#include "cpu/row_fold.h"

namespace oriel::cpu {

bool takes_stacks(const FoldJob& job);
void run_stacks(const FoldJob& job, int threads);

}  // namespace oriel::cpu
