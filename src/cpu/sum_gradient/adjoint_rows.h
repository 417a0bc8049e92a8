// Backward sums in one go: shares of outputs, row by row, added up and spread over the inputs while they are in the
// first cache.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Of a sum or an average (S9) whose inputs are each in few windows.
bool can_add_rows(const Gradient& gradient);
void run_added_rows(const Gradient& gradient, int threads);

/// The gradient of Lp, or of a sum that leaves out the NaN of x; dy are shares, in the accumulator type. False, and
/// nothing is written, if inputs are in too many windows.
bool fold_shares_by_rows(const Gradient& of_shares, int threads);

}  // namespace oriel::cpu
