// Gradients of extrema over any windows, by indices.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Whether indices are codes, and not i64.
bool has_codes(const Gradient& gradient);
/// As i64. Throws Error, before anything is written, for a code of no tap of its window.
void run_widened(const Gradient& gradient, int threads);

/// Whether indices are i64.
bool has_wide_indices(const Gradient& gradient);
/// Each output is added to its input; indices are computed if there are none. Throws Error, before anything is written,
/// for an index outside its window.
void run_by_indices(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
