// Which tiles are alive when.
#pragma once

#include <vector>

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// Bytes of a tile in each partition.
index_t partition_bytes(const TensorInfo& tile);

/// The instructions from the first to the last that a tensor is alive at.
struct Lifetime {
  std::size_t first = 0, last = 0;
  bool used = false;

  void use(std::size_t at);
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};
/// Of each tensor: from its first instruction to its last; where one of them is in a loop that the tensor was made
/// outside of, through the whole loop.
std::vector<Lifetime> lifetimes(const Program& program);

/// Where most of a partition is in use.
struct Peak {
  index_t bytes = 0;
  std::size_t at = 0;  // the instruction
  std::vector<int> alive;
};
/// A linear scan over lifetimes. An allocator's gaps and scratch memory of DMA are not modelled.
Peak sbuf_peak(const Program& program);

}  // namespace oriel::tile
