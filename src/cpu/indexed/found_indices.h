// Extrema first, then where they came from.
#pragma once

#include "cpu/plan/fold.h"
#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Maxima and minima by the fold of values alone; then each window is searched for the first tap that equals the
/// result, or for its last NaN (S3, S4).
bool can_find_indices(const FoldJob& job);
bool finding_indices_pays(const FoldJob& job);
/// Whether it is quicker than boxes, too.
bool finding_indices_pays_first(const FoldJob& job);
void run_found_indices(const FoldJob& job, int threads);
/// Whether a gradient from x is quicker by indices that are found so than otherwise.
bool finding_pays_in_gradient(const Gradient& gradient);

}  // namespace oriel::cpu
