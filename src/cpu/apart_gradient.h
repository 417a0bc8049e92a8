// Gradients over windows that share no input, written in one go.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx = the gradient of max, min, sum or an average; places of extrema are found from x, which sums do not look at.
/// False, and nothing is done, unless windows share no input, rows or lanes are runs of memory that fill vectors, and
/// there are kernels: f32 and f64; of 16 bits sums only. Nor where lanes are fewer than `fewest_lanes`: they do not
/// fill vectors, but nothing else may.
bool apart_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, int threads,
                    index_t fewest_lanes);

inline constexpr index_t kFewestLanes = 8;

}  // namespace oriel::cpu
