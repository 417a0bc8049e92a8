// Extrema and where they came from, folded a box of outputs at a time.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

/// Small windows in one pass over inputs where they lie, by kernels that keep codes of one byte in registers.
bool can_codes(const FoldJob& job);
void run_codes(const FoldJob& job, int threads);

/// Any windows of few taps, by rows of values with codes beside them.
bool can_places(const FoldJob& job);
void run_places(const FoldJob& job, int threads);

}  // namespace oriel::cpu
