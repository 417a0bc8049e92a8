// A way of folding values: many small planes are turned so that they lie side by side, folded there, and turned back.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_turned(const FoldJob& job);
bool turned_pays(const FoldJob& job);
void run_turned(const FoldJob& job, int threads);

}  // namespace oriel::cpu
