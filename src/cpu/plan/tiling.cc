#include "cpu/plan/tiling.h"

#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kTasksPerThread = 4;
constexpr index_t kSharedTasks = 8;  // a plane of less bytes than so many tasks is not cut in bands for all threads

index_t round_up_div(index_t a, index_t b) { return (a + b - 1) / b; }

}  // namespace

index_t RowTile::offset(const RowLayout& layout, index_t plane, Operand operand) const {
  const index_t offset = layout.plane_offset(plane, operand) + lane_begin * layout.lanes.pitch[operand];
  if (layout.row_axis < 0) return offset;
  const index_t along = operand == kX ? in_begin : out_begin;
  return offset + along * layout.axis[static_cast<std::size_t>(layout.row_axis)].pitch[operand];
}

RowTile Tiling::tile(index_t number) const {
  RowTile t;
  const index_t begin = number * tile_size_;
  if (layout_->row_axis < 0) {
    t.axis = Axis::uniform(1, 1, 1, 0, 0);
    t.lane_begin = begin;
    t.lanes = std::min(tile_size_, layout_->lanes.n - begin);
    return t;
  }
  const Axis& axis = layout_->axis[static_cast<std::size_t>(layout_->row_axis)].axis;
  const Range outputs = {begin, std::min(axis.out, begin + tile_size_)};
  t.axis = axis.slice(outputs);
  t.in_begin = t.axis.in_offset - axis.in_offset;
  t.out_begin = begin;
  t.lanes = layout_->lanes.n;
  if (t.axis.out > 0) {
    const index_t last = t.axis.out - 1;
    t.before = std::max<index_t>(0, -t.axis.start(0));
    t.after = std::max<index_t>(0, t.axis.at(last, t.axis.width(last) - 1) + 1 - t.places());
  }
  return t;
}

Tiling::Tiling(const RowLayout& layout, const RowReduction& reduction, int threads, index_t row_bytes)
    : layout_(&layout) {
  const index_t lane_bytes = std::max<index_t>(1, reduction.value_bytes + reduction.extra_bytes);
  index_t whole = layout.lanes.n;
  tile_size_ = std::max<index_t>(1, row_bytes / lane_bytes);
  if (layout.row_axis >= 0) {
    const Axis& axis = layout.axis[static_cast<std::size_t>(layout.row_axis)].axis;
    whole = axis.out;
    const index_t per_output = std::max<index_t>(1, axis.in / std::max<index_t>(1, axis.out)) * layout.lanes.n;
    tile_size_ = std::max<index_t>(1, tile_size_ / per_output);
    if (!axis.adaptive) tile_size_ = std::max(tile_size_, 2 * axis.extent() / axis.stride);  // little is read twice
  }
  if (whole <= tile_size_ + tile_size_ / 2) tile_size_ = std::max<index_t>(1, whole);
  tiles = std::max<index_t>(1, round_up_div(whole, tile_size_));
  index_t in_rows = 1;
  for (int a = 0; a < layout.pooled(); ++a) {
    if (a == layout.row_axis) continue;
    rows *= layout.axis[static_cast<std::size_t>(a)].axis.out;
    in_rows *= layout.axis[static_cast<std::size_t>(a)].axis.in;
  }
  const Range full = layout.row_axis < 0 ? Range{} : layout.axis[static_cast<std::size_t>(layout.row_axis)].axis.full();
  for (index_t i = 0; i < tiles; ++i) {
    const RowTile t = tile(i);
    in_elems = std::max(in_elems, t.in_elems());
    out_elems = std::max(out_elems, t.out_elems());
    before_elems = std::max(before_elems, t.before * t.lanes);
    after_elems = std::max(after_elems, t.after * t.lanes);
    place_elems = std::max(place_elems, t.places() * t.lanes);
    if (full.contains(t.out_begin)) i = std::max(i, full.end / tile_size_ - 1);  // those between are like this one
  }
  const index_t wanted = threads <= 1 ? 1 : kTasksPerThread * threads;
  const index_t parts = std::max<index_t>(1, layout.plane_count() * tiles);
  const index_t bytes_of_row = std::max<index_t>(1, in_rows * in_elems * lane_bytes / std::max<index_t>(1, rows));
  const index_t least_bytes = kSharedTasks * oriel::cpu::task_bytes / std::max(1, threads);
  const index_t least_rows = std::max<index_t>(1, least_bytes / bytes_of_row);
  band_rows = std::max(least_rows, round_up_div(rows, round_up_div(wanted, parts)));
  band_rows = std::min(std::max<index_t>(1, rows), band_rows);
  bands = std::max<index_t>(1, round_up_div(rows, band_rows));
  task_bytes = band_rows * bytes_of_row;
}

void Tiling::keep_windows(index_t planes, index_t kernel, int threads) {
  constexpr index_t kLongTasksPerThread = 2;
  const index_t wanted = threads <= 1 ? 1 : kLongTasksPerThread * threads;
  const index_t row_bytes = task_bytes / band_rows;
  band_rows = round_up_div(rows, std::clamp<index_t>(round_up_div(wanted, planes * tiles), 1, bands));
  band_rows = std::max(band_rows, std::min(rows, kernel));
  bands = round_up_div(rows, band_rows);
  task_bytes = row_bytes * band_rows;
}

}  // namespace oriel::cpu
