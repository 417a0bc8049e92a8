#include "cpu/sliding/sliding_tile.h"

namespace oriel::cpu {

LongAxes::LongAxes(const RowLayout& layout)
    : across(Axis::uniform(1, 1, 1, 0, 0)), along(Axis::uniform(1, 1, 1, 0, 0)) {
  for (int a = 0; a < layout.pooled(); ++a) {
    const PooledAxis& p = layout.axis[static_cast<std::size_t>(a)];
    if (a == layout.row_axis) {
      along = p.axis;
      along_pitch = p.pitch;
    } else {
      across = p.axis;
      across_pitch = p.pitch;
      across_number = a;
    }
  }
}

SlidingTile::SlidingTile(const FoldJob& job, const Tiling& tiling, Arena& arena)
    : job_(job), tiling_(tiling), axes_(job.layout), runs_(arena.take_array<RowRun>(tiling.out_elems)) {}

bool SlidingTile::set(index_t plane, index_t number) {
  const bool other = number != number_;
  if (other) {
    number_ = number;
    tile_ = tiling_.tile(number);
    if (asks_for_counts(job_.plain)) counts_.count(tile_.axis, job_.plain, RunTaps::most, runs_);
  }
  plane_ = plane;
  x_ = static_cast<const std::byte*>(job_.x) + tile_.offset(job_.layout, plane, kX) * job_.plain.in_bytes;
  y_ = static_cast<std::byte*>(job_.y) + tile_.offset(job_.layout, plane, kY) * job_.plain.out_bytes;
  return other;
}

void SlidingTile::pick(const void* results, void* to) const {
  copy_(results, tile_.axis.stride, tile_.axis.out, tile_.lanes * job_.plain.value_bytes, to);
}

void SlidingTile::lower(const void* row, index_t output) const {
  const LowerRow how = job_.plain.lower != nullptr ? job_.plain.lower : job_.plain.store;
  how({row, nullptr, 0}, tile_.axis.out, tile_.lanes, params(output), y(output), tile_.position_pitch(job_.layout, kY),
      job_.layout.lanes.pitch[kY]);
}

}  // namespace oriel::cpu
