// A way for windows that do not overlap, or hardly, along contiguous rows: adaptive, global and patches. Rows of many
// planes are folded together and turned, so that the same tap of all of them is a row.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_blocks(const FoldJob& job);
bool blocks_pay(const FoldJob& job);
void run_blocks(const FoldJob& job, int threads);

}  // namespace oriel::cpu
