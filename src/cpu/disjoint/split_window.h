// A way for windows of one row that are longer than the caches: chunks of a window are folded by several threads.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_chunks(const FoldJob& job);
bool chunks_pay(const FoldJob& job);
void run_chunks(const FoldJob& job, int threads);

}  // namespace oriel::cpu
