// A fold to be computed.
#pragma once

#include "cpu/plan/layout.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// One fold of x into y over a layout. Where plain.scan finds values that `plain` does not treat exactly, the careful
/// recipe of `problem` replaces it; without a problem plain is used everywhere.
struct FoldJob {
  RowLayout layout;
  RowReduction plain;
  const Problem* problem = nullptr;
  const void* x = nullptr;  // the tensors that the layout was made for
  void* y = nullptr;
  void* index = nullptr;           // then `plain` must carry codes
  Dtype index_dtype = Dtype::i64;  // u8 and i32 in space window only
  IndexSpace space = IndexSpace::plane;
};

}  // namespace oriel::cpu
