// Which tiles are alive when.
#pragma once

#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// Bytes of a tile in each partition.
index_t partition_bytes(const TensorInfo& tile);

/// Where most of a partition is in use.
struct Peak {
  index_t bytes = 0;
  std::size_t at = 0;  // the instruction
  std::vector<int> alive;
};
/// A linear scan: a tile is alive from its first instruction to its last; one that is made before a loop and used in
/// it, through the whole loop. An allocator's gaps and scratch memory of DMA are not modelled.
Peak sbuf_peak(const Program& program);

}  // namespace oriel::tile
