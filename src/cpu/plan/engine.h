// How a strategy that turns its job into others has these carried out: by the tables of strategies.h, above all wings.
#pragma once

#include "cpu/plan/fold.h"
#include "cpu/plan/gradient.h"

namespace oriel::cpu {

// On at most `threads` threads (0: the default). The split into tasks never changes a bit.

/// y = the pool of x; where `index` (i64, or codes of u8 or i32) is not null, also where each extremum came from.
void run(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space,
         int threads);
/// y = the pool of x by another reduction than the problem's.
void run(const Problem& problem, const RowReduction& reduction, const ConstTensor& x, const Tensor& y, int threads);
void run_fold(const FoldJob& job, int threads);
void run_gradient(const Gradient& gradient, int threads);

}  // namespace oriel::cpu
