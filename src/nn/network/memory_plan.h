// Where the tensors of a fixed sequence of steps lie in one block of memory.
#pragma once

#include <vector>

#include "oriel/types.h"

namespace oriel::nn {

/// A tensor that lives from the step that writes it to the last one that reads it, both included.
struct Lifetime {
  index_t bytes = 0;
  int first = 0;
  int last = 0;
  /// The number of the tensor that it must directly follow in memory, as the second part of a joined tensor does; -1:
  /// none. A tensor is followed by at most one, and one that follows is not followed itself.
  int after = -1;
};

struct MemoryPlan {
  std::vector<index_t> offsets;  ///< of each tensor, multiples of 64 bytes
  index_t bytes = 0;             ///< the block's size
  index_t lower_bound = 0;       ///< most bytes that live in one step: no plan has a smaller block
};

/// Tensors whose lifetimes meet share no byte. Each is put at the lowest place that is free for it, in several orders,
/// of which the one with the smallest block is kept. The same lifetimes give the same plan. A tensor that another one
/// follows has a size that is a multiple of 64.
MemoryPlan plan_memory(const std::vector<Lifetime>& tensors);

}  // namespace oriel::nn
