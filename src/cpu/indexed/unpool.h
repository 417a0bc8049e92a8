// The quick way of unpooling.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// x = zeros, then x[index[o]] = y[o] in row-major order of outputs. False when it did not, and nothing is written:
/// memory is not laid out for it, or an index is out of range.
bool unpool_dense(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                  const Tensor& x, int threads);

}  // namespace oriel::cpu
