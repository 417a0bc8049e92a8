// Backward of max and min from stored codes (S10: u8 in space window).
#pragma once

#include <optional>

#include "cpu/code_gradient/shape.h"
#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Each input gathers from the windows that it may be the extremum of.
bool can_gather_codes(const Gradient& gradient);
/// Whether that is quicker than to scatter.
bool gathering_codes_pays(const Gradient& gradient);
/// Throws Error for a code of no tap of its window; then dx may have been written.
void run_gathered_codes(const Gradient& gradient, int threads);

/// Each output is added to the input that its code names.
bool can_scatter_codes(const Gradient& gradient);
void run_scattered_codes(const Gradient& gradient, int threads);

/// How inputs gather; none: outputs are scattered.
std::optional<GatherWay> gather_way(const Gradient& gradient);

}  // namespace oriel::cpu
