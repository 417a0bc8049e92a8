// Backward of max and min for floating types: a box of inputs at a time, which gather what their windows send.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// From x, or from i64 indices.
bool can_gather(const Gradient& gradient);
/// Throws Error, before anything is written, for an index outside its window.
void run_gather(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
