// A result cut into blocks that are made one after another, each from the inputs that it needs, in bounded memory.
#pragma once

#include <vector>

#include "oriel/distributed.h"

namespace oriel::cli {

/// How a result is cut.
struct BlockRules {
  index_t memory = 0;    ///< bytes that the process may hold
  index_t held = 0;      ///< what it holds already
  index_t parts = 1;     ///< at least as many blocks, where there are as many results, so that each rank has work
  bool indices = false;  ///< whether places of maxima are made too
  index_t beside = 0;    ///< bytes of a mask and weights for an input
  Extents order;         ///< axes from outermost to innermost in the input's file
  Extents chunk;         ///< of the output's file: blocks end where its chunks do, as far as they can; empty: none
  Extents input_chunk;   ///< of the input's file: blocks are cut so that few chunks are read twice; empty: none
};

/// How often the chunks of an input's file are read, and thus decoded.
struct ChunkReads {
  index_t chunks = 0;          ///< that are needed; 0: the file has none
  index_t reads = 0;           ///< of them, at most
  index_t slots = 0;           ///< chunks to hold for later blocks, one of them on its way
  index_t memory_for_one = 0;  ///< bytes that the process must be allowed to hold to read each of them once
};

/// A result as a grid of blocks of one size, but for the last ones along each axis.
class Blocks {
 public:
  /// Throws Error naming --memory when not even the inputs of one result fit.
  Blocks(const distributed::HaloPlan& plan, const BlockRules& rules);

  index_t count() const { return grid_.ranks(); }
  /// In the order that the input's file has them, so that it is read from its beginning to its end; if it has chunks,
  /// with the last axis fastest.
  distributed::Box block(index_t i) const;
  /// Elements of the largest block, and of the inputs that one needs at most.
  index_t most_outputs() const { return most_outputs_; }
  index_t most_inputs() const { return most_inputs_; }
  const ChunkReads& chunk_reads() const { return chunk_reads_; }
  /// The first block after `block` and before `end` that needs inputs of a chunk; -1: none.
  index_t next_use(const Extents& chunk, index_t block, index_t end) const;

 private:
  void describe_chunks(const distributed::HaloPlan& plan, const BlockRules& rules);

  ChunkReads chunk_reads_;
  distributed::Partition grid_;
  Extents order_;  // of the input's axes
  index_t most_outputs_ = 0, most_inputs_ = 0;
  std::vector<std::vector<Range>> users_;  // along each axis the parts that need inputs of each chunk
};

/// Chunks for a result whose input has chunks of `chunk`: as many, but of 256 KiB at least. Empty for an input in one
/// piece.
Extents output_chunk(const Problem& problem, const Extents& chunk);

}  // namespace oriel::cli
