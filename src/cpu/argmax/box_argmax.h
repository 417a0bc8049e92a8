// Extrema with indices, a box of outputs at a time.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_places(const FoldJob& job);
void run_places(const FoldJob& job, int threads);

}  // namespace oriel::cpu
