// Chunks of a file that are read, and taken out of their filters, once for several boxes.
#pragma once

#include <functional>
#include <vector>

#include "io/volume.h"

namespace oriel::io {

/// Reads boxes of a volume that is made of chunks, and keeps chunks that later boxes ask for again, as many as fit.
class ChunkCache {
 public:
  /// Which of the boxes to come, counted upwards, reads a chunk (its place in the grid of chunks) next; -1: none.
  using NextUse = std::function<index_t(const Extents& chunk)>;

  /// `slots`: chunks that it may hold, one of them for a chunk on its way.
  ChunkCache(VolumeIn& volume, index_t slots, NextUse next_use);

  /// As VolumeIn::read.
  void read(const Extents& begin, const Tensor& to);
  /// How many chunks were read so far; one of which a box needs a part only counts as a whole one.
  index_t reads() const { return reads_; }

 private:
  struct Slot {
    Extents chunk;  // empty: the slot is free
    index_t next_use = -1;
    Buffer values;
  };

  Slot* find(const Extents& chunk);
  Slot* room_for(index_t next_use);
  void read_chunk(const Extents& chunk, const Extents& begin, const Tensor& to);
  void copy_part(const Slot& slot, const Extents& begin, const Tensor& to) const;
  Tensor view_of(const Slot& slot, const Extents& shape) const;

  VolumeIn& volume_;
  NextUse next_use_;
  std::vector<Slot> slots_;
  Slot passing_;
  index_t reads_ = 0;
};

/// Calls f with the place in the grid of chunks of each chunk that a box touches.
void for_each_chunk(const Extents& chunk, const Extents& begin, const Extents& box,
                    const std::function<void(const Extents&)>& f);

}  // namespace oriel::io
