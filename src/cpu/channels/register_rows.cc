#include "cpu/channels/register_rows.h"

#include <algorithm>

#include "cpu/simd/stream.h"

namespace oriel::cpu {

RegisterRows::RegisterRows(const ChannelAxes& axes, const LaneRowKernel& kernel, const Tiling& tiling, Arena& arena)
    : axes_(axes),
      layout_(axes.job.layout),
      how_(axes.job.plain),
      tiling_(tiling),
      kernel_(kernel),
      across_(axes.across.empty() ? -1 : axes.across[0]),
      // 3x3 step 2: 8x35x35x288 gains a third by prefetching, 1x14x14x2048 loses.
      far_(element_count(axes.job.problem->shape) * how_.in_bytes >= far_bytes),
      taps_(axes, tiling.tile(0).lanes, arena) {
  const index_t inputs = kMostLaneRows * (across_ < 0 ? 1 : axes.axis(across_).kernel);
  inputs_ = arena.take_array<const std::byte*>(inputs);
  input_pitches_ = arena.take_array<index_t>(inputs);
  runs_ = arena.take_array<RowRun>(axes.along >= 0 ? axes.axis(axes.along).out : 1);
  scratch_ = arena.take(kLaneRowsKept * (tiling.tile(0).lanes + kernel.fewest_lanes) * how_.value_bytes + 128);
}

bool RegisterRows::fold(const RowTask& task) {
  set_tile(task.tile);
  special_ = false;
  taps_.set_watched(0);
  x_ = static_cast<const std::byte*>(axes_.job.x) + tile_.offset(layout_, task.plane, kX) * how_.in_bytes;
  y_ = static_cast<std::byte*>(axes_.job.y) + tile_.offset(layout_, task.plane, kY) * how_.out_bytes;
  return fold_rows(task.rows);
}

void RegisterRows::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  if (!axes_.along_is_cut()) set_outputs(tile_.axis);
}

void RegisterRows::set_outputs(const Axis& axis) {
  if (along_ == axis) return;
  along_ = axis;
  if (asks_for_counts(how_)) counts_.count(axis, how_, RunTaps::most, runs_);
}

// Rows of outputs of the plane, or, where lanes are cut, of a tile.
bool RegisterRows::fold_rows(Range rows) {
  const bool cut = axes_.along_is_cut();  // then every output along is a row of the tiling
  const Axis along = cut ? axes_.axis(axes_.along) : Axis::uniform(1, 1, 1, 0, 0);
  for (index_t r = rows.begin; r < rows.end && (axes_.mends || !special_);) {
    const index_t row = r / along.out, first = r % along.out;
    const index_t outputs = std::min(along.out - first, rows.end - r);
    const bool whole = outputs == along.out;
    index_t in = 0, out = across_ < 0 ? 0 : row * layout_.axis[static_cast<std::size_t>(across_)].pitch[kY];
    if (cut) {
      const Axis part = along.slice({first, first + outputs});
      set_outputs(part);
      in = (part.in_offset - along.in_offset) * axes_.in_pitch;
      out += first * axes_.out_pitch;
    }
    if (!whole) taps_.set_watched(0);  // another part of the rows above tells nothing
    const index_t count = whole ? rows_alike(row, (rows.end - r) / along.out) : 1;
    fold_some(row, count, x_ + in * how_.in_bytes, y_ + out * how_.out_bytes);
    if (!whole) taps_.set_watched(0);
    r += count * outputs;
  }
  return !special_;
}

// How many rows from `row` on are folded in one call: those that divide by the same numbers and look at as many taps.
index_t RegisterRows::rows_alike(index_t row, index_t most) const {
  if (across_ < 0) return 1;
  const Axis& axis = axes_.axis(across_);
  if (taps_.watched() == 0 && axis.stride < axis.extent()) return 1;  // the first looks at taps that others share
  if (axes_.job.problem->pool.op != Op::avg) return std::min(most, kMostLaneRows);
  const Range full = axis.full();
  return full.contains(row) ? std::min({most, kMostLaneRows, full.end - row}) : 1;
}

// One call for all windows of the rows that count alike.
void RegisterRows::fold_some(index_t row, index_t count, const std::byte* x, std::byte* y) {
  LaneRows b;
  b.infinity = kernel_.infinity;
  b.count = count;
  b.across = across_ < 0 ? 1 : static_cast<int>(axes_.axis(across_).kernel);
  for (index_t i = 0; i < count; ++i) {
    const index_t unwatched = taps_.list(across_, row + i, x, inputs_ + i * b.across);
    b.watched = std::max(b.watched, static_cast<int>(unwatched));
  }
  for (index_t i = 0; i < count * b.across; ++i) {
    input_pitches_[i] = inputs_[i] == taps_.absent() ? 0 : axes_.in_pitch;
  }
  b.rows = reinterpret_cast<const void* const*>(inputs_);
  b.row_pitch = input_pitches_;
  b.along = static_cast<int>(along_.kernel);
  b.stride = along_.stride;
  b.dilation = along_.dilation;
  b.in = along_.in;
  b.lanes = tile_.lanes;
  b.along_first = across_ > axes_.along;
  b.far = far_;
  b.y_pitch = axes_.out_pitch;
  b.y_row_pitch = across_ < 0 ? 0 : layout_.axis[static_cast<std::size_t>(across_)].pitch[kY];
  b.scratch = scratch_;
  const RowRun all = {0, along_.out};
  LowerParams p = {&all, 1};
  if (axes_.job.problem->pool.op == Op::avg) {
    p = counts_.params(how_);
    if (across_ >= 0) add_axis(p, how_, axes_.axis(across_), row);
  }
  for (const RowRun* run = p.runs; run != p.runs + p.run_count; ++run) {
    if (axes_.job.problem->pool.op == Op::avg) b.divide_all(p.divisor_of(*run), axes_.job.problem->dtype);
    b.first = along_.start(run->begin);
    b.out = run->end - run->begin;
    b.y = y + run->begin * b.y_pitch * how_.out_bytes;
    special_ |= kernel_.fold(b);
  }
}

}  // namespace oriel::cpu
