// Extrema with indices in one pass over inputs where they lie: small windows, by kernels that carry small codes.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

bool can_codes(const FoldJob& job);
void run_codes(const FoldJob& job, int threads);

}  // namespace oriel::cpu
