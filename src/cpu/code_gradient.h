// Backward of max and min from stored codes (S10: u8 in space window).
#pragma once

#include <optional>

#include "cpu/code_shape.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// dx from dy and codes of dtype u8. False when it did not: the problem is not one for it, or, and then dx may have
/// been written, a code is of no tap that its window has.
bool code_gradient(const Problem& problem, const ConstTensor& dy, const ConstTensor& codes, const Tensor& dx,
                   int threads);

/// How it gathers; none: it scatters.
std::optional<GatherWay> gather_way(const Problem& problem, const ConstTensor& dy, const ConstTensor& codes,
                                    const Tensor& dx);

}  // namespace oriel::cpu
