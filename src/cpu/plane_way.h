// A way of folding values: planes whose rows are runs of memory, in small windows.
#pragma once

#include "cpu/row_fold.h"

namespace oriel::cpu {

bool takes_planes(const FoldJob& job);
void run_planes(const FoldJob& job, int threads);

}  // namespace oriel::cpu
