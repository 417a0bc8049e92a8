// The engine: folds rows axis by axis, whatever the reduction, layout and direction.
#pragma once

#include "cpu/layout.h"
#include "oriel/problem.h"
#include "oriel/reduce.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// One fold of x into y over a layout. Where plain.scan finds values that `plain` does not treat exactly, the careful
/// recipe of `problem` replaces it; without a problem plain is used everywhere.
struct FoldJob {
  RowLayout layout;
  RowReduction plain;
  const Problem* problem = nullptr;
  const void* x = nullptr;  // the tensors that the layout was made for
  void* y = nullptr;
  void* index = nullptr;  // i64; then `plain` must carry codes
  IndexSpace space = IndexSpace::plane;
};

/// Runs it on at most `threads` threads (0: the default). The split into tasks never changes a bit.
void run_fold(const FoldJob& job, int threads);

}  // namespace oriel::cpu
