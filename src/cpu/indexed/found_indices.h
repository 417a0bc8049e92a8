// Extrema first, then where they came from.
#pragma once

#include "cpu/plan/fold.h"

namespace oriel::cpu {

/// Maxima and minima by the fold of values alone; then each window is searched for the first tap that equals the
/// result, or for its last NaN (S3, S4).
bool can_find_indices(const FoldJob& job);
bool finding_indices_pays(const FoldJob& job);
void run_found_indices(const FoldJob& job, int threads);

}  // namespace oriel::cpu
