// One thread's part of a gradient whose inputs add the shares of the windows that read them: across rows, which are
// kept for the next inputs, and then along them.
#pragma once

#include <cstring>

#include "cpu/sum_gradient/share_tile.h"

namespace oriel::cpu {

class ShareFolder {
 public:
  /// Takes its memory from the arenas, which must not be reset while it lives.
  ShareFolder(const ShareJob& job, const Tiling& tiling, Arena& arena, Arena& tile_arena);
  void fold(index_t plane, index_t tile, Range rows);

 private:
  static constexpr index_t kFewBytes = 64;
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  struct Key {
    index_t task = -1;
    index_t row = 0;
  };
  // An axis across rows.
  struct Stage {
    int number = 0;
    index_t input_step = 1;
    index_t ring = 1;  // rows at hand at a time, a power of two
    index_t in = 0;
    index_t pitch = 0;                 // of its outputs, in bytes
    index_t key_step = 1;              // in the number of a row
    const SharedTaps* taps = nullptr;  // of every input of the pool
    const double* divisors = nullptr;  // of every output
  };
  // Rows after some stages. Each has room for the places that the row axis looks at beyond its ends.
  struct Rows {
    std::byte* first = nullptr;
    Key* keys = nullptr;
  };

  void add_stage(int a);
  void make_rows(const Tiling& tiling);
  const std::byte* row(int level, RowCoords& c);
  const std::byte* planar_row(index_t i);
  void share(const std::byte* dy, double across, std::byte* out) const;
  void add(const SharedTaps& taps, const void* const* rows, std::byte* out) const;
  std::byte* slot(int level, const RowCoords& c, Key*& key) const;
  void end_row(std::byte* row) const {
    std::byte* end = row + tile_.tile().in_elems() * bytes_;
    if (tile_.after_bytes() > kFewBytes) std::memcpy(end, absent_, at(tile_.after_bytes()));
    if (tile_.after_bytes() != 0) std::memcpy(end, absent_, at(kFewBytes));  // there is room, and this is no call
  }

  const ShareJob& job_;
  const RowLayout& layout_;
  Arena& arena_;
  const index_t bytes_;  // of an accumulator
  ShareTile tile_;
  const ShareResults results_;
  InlineList<Stage, kMaxPooledAxes> stage_;
  std::array<Rows, kMaxPooledAxes + 1> rows_;
  index_t slot_bytes_ = 0;
  index_t before_bytes_ = 0;     // room before a row
  std::byte* absent_ = nullptr;  // absent shares, with room on both sides
  std::byte* scratch_ = nullptr;
  index_t task_ = 0;
  const std::byte* dy_ = nullptr;
};

}  // namespace oriel::cpu
