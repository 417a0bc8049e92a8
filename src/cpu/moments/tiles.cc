#include "cpu/moments/tiles.h"

namespace oriel::cpu {
namespace {

// Of the states of a tile between two folds: half of a second-level cache.
constexpr index_t kTileBytes = index_t{1} << 19;
// States of a row: of longer ones, windows at the borders of tiles are folded twice.
constexpr index_t kRowStates = 16384, kLanes = 2048;

// The most inputs, or places where there might be one, that `outputs` windows span.
index_t span_of(const Axis& axis, index_t outputs) {
  if (!axis.adaptive) return (outputs - 1) * axis.stride + axis.extent();
  return std::min(axis.in, (outputs * axis.whole_in) / axis.whole_out + axis.kernel + 1);
}

index_t parts_of(index_t n, index_t size) { return (n + size - 1) / size; }

}  // namespace

Tiles::Tiles(const Grid& grid, index_t state_bytes) : grid_(grid), lanes_(grid.lanes.n) {
  if (grid.row < 0) lanes_ = std::min(lanes_, kLanes);
  lane_parts_ = parts_of(grid.lanes.n, lanes_);
  const int axes = grid.pooled.size();
  for (int a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    const Axis& axis = grid.pooled[i].axis;
    size_[i] = axis.out;
    const index_t most = a == grid.row ? std::max(kRowStates / lanes_, 4 * axis.extent()) : axis.in;
    while (a == grid.row && size_[i] > 1 && span_of(axis, size_[i]) > most) size_[i] = (size_[i] + 1) / 2;
  }
  // Of the axes across rows but the first, halves until states fit, or until most of a tile would be the border that it
  // shares with its neighbours.
  for (bool changes = true; changes && states() * state_bytes > kTileBytes;) {
    changes = false;
    for (int a = 1; a < axes; ++a) {
      const auto i = static_cast<std::size_t>(a);
      const Axis& axis = grid.pooled[i].axis;
      if (a == grid.row || size_[i] < 2 || size_[i] * axis.stride < 2 * axis.extent()) continue;
      size_[i] = (size_[i] + 1) / 2;
      changes = true;
    }
  }
  if (grid.row != 0) {
    const Axis& axis = grid.pooled[0].axis;
    size_[0] = std::clamp<index_t>(kTileBytes / (states() * state_bytes), 1, axis.out);
  }
  count_ = grid.plane_count() * lane_parts_;
  for (int a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    parts_[i] = parts_of(grid.pooled[i].axis.out, size_[i]);
    count_ *= parts_[i];
  }
}

index_t Tiles::inputs(int axis) const {
  return span_of(grid_.pooled[static_cast<std::size_t>(axis)].axis, outputs(axis));
}

index_t Tiles::row_states() const {
  if (grid_.row < 0) return lanes_;
  return std::max(inputs(grid_.row), outputs(grid_.row)) * lanes_;
}

index_t Tiles::states() const {
  index_t all = row_states();
  for (int a = 1; a < grid_.pooled.size(); ++a) {
    if (a == grid_.row) continue;
    all *= std::min(grid_.pooled[static_cast<std::size_t>(a)].axis.in, inputs(a));
  }
  return all;
}

Tile Tiles::tile(index_t number) const {
  Tile tile;
  for (int a = 0; a < grid_.pooled.size(); ++a) {
    const auto i = static_cast<std::size_t>(a);
    const index_t begin = number % parts_[i] * size_[i];
    tile.outputs[i] = {begin, std::min(begin + size_[i], grid_.pooled[i].axis.out)};
    number /= parts_[i];
  }
  const index_t lane = number % lane_parts_ * lanes_;
  tile.lanes = {lane, std::min(lane + lanes_, grid_.lanes.n)};
  tile.plane = number / lane_parts_;
  return tile;
}

}  // namespace oriel::cpu
