// The engine: folds rows axis by axis, whatever the reduction, layout and direction.
#pragma once

#include "cpu/layout.h"
#include "oriel/problem.h"
#include "oriel/reduce.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// One fold of x into y over a layout. `careful` replaces `plain` for the parts of the data where plain.scan finds
/// values that it does not treat exactly; without it plain is used everywhere.
struct FoldJob {
  RowLayout layout;
  RowReduction plain;
  const RowReduction* careful = nullptr;
  ConstTensor x;
  Tensor y;
  const Tensor* index = nullptr;  // i64; then `plain` must carry codes
  IndexSpace space = IndexSpace::plane;
};

/// Runs it on at most `threads` threads (0: the default). The split into tasks never changes a bit.
void run_fold(const FoldJob& job, int threads);

}  // namespace oriel::cpu
