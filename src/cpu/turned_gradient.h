// Gradients of many small planes: they are turned so that planes lie side by side, and back.
#pragma once

#include <functional>

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// A gradient on one thread, of planes side by side.
using RunGradient =
    std::function<void(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx)>;

/// Gives batches of planes to `run`. False, and nothing is written, where planes are few, large or not dense, or their
/// rows have more than `most_row_bytes`. `x` may be null.
bool turn_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, int threads,
                   index_t most_row_bytes, const RunGradient& run);

}  // namespace oriel::cpu
