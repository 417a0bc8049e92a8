// A way for one window over all of a plane, which is one run of memory.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_global(const FoldJob& job);
void run_global(const FoldJob& job, int threads);

}  // namespace oriel::cpu
