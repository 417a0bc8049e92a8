// A way for tensors whose lanes stand side by side: channels last. Small windows are folded in registers, several rows
// in one call (register_rows.h). Otherwise rows of elements are folded where they lie into a row of accumulators that
// stays in the first caches, and the windows along it for a whole row in one call (channel_folder.h).
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_columns(const FoldJob& job);
bool columns_pay(const FoldJob& job);
void run_columns(const FoldJob& job, int threads);

}  // namespace oriel::cpu
