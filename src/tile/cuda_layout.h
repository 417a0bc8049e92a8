// How a program lies on a GPU: what a block does, and where its tiles are.
#pragma once

#include "tile/plan.h"

namespace oriel::tile {

/// Blocks are numbered partition first, then iteration, then program of the grid. A block's threads share the elements
/// of each instruction; nothing passes between blocks.
struct CudaLayout {
  Plan plan;
  index_t partitions = 1;  // that have a block each; 1: a block has all of them
  bool by_partition = false;
  int loop = -1;                  // the instruction whose iterations have a block each; -1: none
  bool programs_in_turn = false;  // one block runs the whole grid, as programs read what others wrote
  index_t blocks = 1;
  int threads = 32;
  std::vector<index_t> offset;  // of each tensor without memory of the caller's: bytes
  index_t shared_bytes = 0;     // of a block's tiles, where they fit
  index_t tile_bytes = 0;       // of a block's tiles in scratch memory, where they do not fit
  index_t hbm_bytes = 0;        // of the kernel's own tensors in HBM, at the start of scratch memory

  index_t scratch_bytes() const { return hbm_bytes + blocks * tile_bytes; }
};

/// Throws Error for more blocks than a grid has.
CudaLayout cuda_layout(const Program& program);

/// Each element is at its own place, whatever the order of the axes; `axes` are those from `from` on.
bool is_injective(const Pattern& pattern, const Values& counts, std::size_t from);

}  // namespace oriel::tile
