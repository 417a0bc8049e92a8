// Gradients of many small planes: they are turned so that planes lie side by side, and back.
#pragma once

#include "cpu/plan/gradient.h"

namespace oriel::cpu {

/// Whether planes are many, small and dense.
bool can_turn(const Gradient& gradient);
/// Whether their rows are short.
bool turning_pays(const Gradient& gradient);
/// Computes the gradients of batches of planes side by side.
void run_turned_gradient(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
