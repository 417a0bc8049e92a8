// Blocks for an input whose file is made of chunks: cut so that few chunks are read, and thus decoded, twice.
#pragma once

#include <optional>

#include "oriel/distributed.h"

namespace oriel::cli {

/// What there is to choose by.
struct ChunkRules {
  index_t memory = 0;  ///< bytes for the buffers of a block and for chunks that are kept
  index_t parts = 1;   ///< at least as many blocks, if there can be
  index_t each = 0;    ///< bytes of an output, with its place if those are made
  Extents chunk;       ///< of the input
  index_t beside = 0;  ///< bytes of a mask and weights for an input
};

/// A division into blocks.
struct ChunkChoice {
  Extents size;        ///< outputs of a block along each axis
  index_t reads = 0;   ///< of chunks, by all blocks
  index_t chunks = 0;  ///< in the file
  index_t kept = 0;    ///< chunks to keep at once, so that each is read once; 0: none has to be, or they do not fit
};

/// The choice with the fewest reads that fits, of these the one with the fewest blocks; nothing if none fits.
std::optional<ChunkChoice> choose_blocks(const distributed::HaloPlan& plan, const ChunkRules& rules);

/// The least `memory` with which choose_blocks reads each chunk once.
index_t memory_for_one_read(const distributed::HaloPlan& plan, const ChunkRules& rules);

/// Of a block's buffers half as much more is for what the pool takes for itself.
constexpr index_t with_scratch(index_t bytes) { return bytes + bytes / 2; }

}  // namespace oriel::cli
