// The outputs of a job in tiles, whose states stay in the caches.
#pragma once

#include "cpu/moments/grid.h"
#include "cpu/states/along.h"

namespace oriel::cpu {

/// One tile: outputs along each pooled axis, in the order of folds.
struct Tile {
  index_t plane = 0;
  Range lanes;
  std::array<Range, kMaxPooledAxes> outputs;
};

class Tiles {
 public:
  /// `state_bytes`: of one state.
  Tiles(const Grid& grid, index_t state_bytes);

  index_t count() const { return count_; }
  /// Those that follow each other along the first axis are neighbours.
  Tile tile(index_t number) const;
  /// Whether a tile goes on where the one before ends, along the first axis.
  bool continues(index_t number) const { return number % bands() != 0; }

  /// The most outputs of a tile along an axis, the inputs that they need, and the lanes.
  index_t outputs(int axis) const { return size_[static_cast<std::size_t>(axis)]; }
  index_t inputs(int axis) const;
  index_t lanes() const { return lanes_; }
  /// States of the longest row of inputs or outputs, but for slack.
  index_t row_states() const;

 private:
  index_t bands() const { return parts_[0]; }
  index_t states() const;  // of all rows that one output along the first axis needs

  const Grid& grid_;
  index_t lanes_ = 1, lane_parts_ = 1, count_ = 1;
  std::array<index_t, kMaxPooledAxes> size_{}, parts_{};
};

}  // namespace oriel::cpu
