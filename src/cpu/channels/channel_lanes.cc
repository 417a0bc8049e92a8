// The part of ColumnFolder that folds rows of windows in registers, several rows in one call.
#include "cpu/channels/channels.h"
#include "cpu/lifted/lifted_rows.h"

namespace oriel::cpu {

void ColumnFolder::make_lane_buffers() {
  const index_t outputs = along_ >= 0 ? axis_[at(along_)].out : 1;
  if (layout_.row_axis < 0) segment_outputs_ = outputs;
  identity_ = make_identity(*job_.problem, tiling_.tile(0).lanes, arena_);
  const index_t inputs = kMostLaneRows * (across_.empty() ? 1 : axis_[at(across_[0])].kernel);
  inputs_ = arena_.take_array<const std::byte*>(inputs);
  input_pitches_ = arena_.take_array<index_t>(inputs);
  runs_ = all_runs_ = arena_.take_array<RowRun>(outputs);
  whole_row_ = buffer(kLaneRowsKept * (tiling_.tile(0).lanes + lane_rows_.fewest_lanes), how_.value_bytes);
}

// Rows of outputs of the plane, or, where lanes are cut, of a tile.
bool ColumnFolder::fold_lane_rows(Range rows) {
  const int across = across_.empty() ? -1 : across_[0];
  const bool cut = layout_.row_axis < 0 && along_ >= 0;  // then every output along is a row of the tiling
  const Axis along = cut ? axis_[at(along_)] : Axis::uniform(1, 1, 1, 0, 0);
  for (index_t r = rows.begin; r < rows.end && goes_on();) {
    const index_t row = r / along.out, first = r % along.out;
    const index_t outputs = std::min(along.out - first, rows.end - r);
    index_t in = 0, out = across >= 0 ? row * layout_.axis[at(across)].pitch[kY] : 0;
    if (cut) {
      const Axis part = along.slice({first, first + outputs});
      if (outputs < along.out) scanned_ = 0;  // another part of the rows above tells nothing
      set_segment(part, first);
      in = (part.in_offset - along.in_offset) * in_pitch_;
      out += first * out_pitch_;
    }
    const index_t count = outputs < along.out ? 1 : alike_lane_rows(row, (rows.end - r) / along.out);
    fold_some_lane_rows(row, count, x_ + in * how_.in_bytes, y_ + out * how_.out_bytes);
    if (outputs < along.out) scanned_ = 0;
    r += count * outputs;
  }
  return !special_;
}

// How many rows from `row` on are folded in one call: those that divide by the same numbers and look at as many taps.
index_t ColumnFolder::alike_lane_rows(index_t row, index_t most) const {
  if (across_.empty()) return 1;
  const Axis& axis = axis_[at(across_[0])];
  if (scanned_ == 0 && axis.stride < axis.extent()) return 1;  // the first looks at taps that others share
  const Range full = axis.full();
  if (job_.problem->pool.op != Op::avg) return std::min(most, kMostLaneRows);
  return full.contains(row) ? std::min({most, kMostLaneRows, full.end - row}) : 1;
}

// One call for all windows of the rows that count alike.
void ColumnFolder::fold_some_lane_rows(index_t row, index_t count, const std::byte* x, std::byte* y) {
  const Axis& axis = segment_.axis;
  const int across = across_.empty() ? -1 : across_[0];
  LaneRows b;
  b.infinity = lane_rows_.infinity;
  b.count = count;
  b.across = across >= 0 ? static_cast<int>(axis_[at(across)].kernel) : 1;
  for (index_t i = 0; i < count; ++i)
    b.watched = std::max(b.watched, static_cast<int>(list_inputs(across, row + i, x, inputs_ + i * b.across)));
  for (index_t i = 0; i < count * b.across; ++i) input_pitches_[i] = inputs_[i] == identity_ ? 0 : in_pitch_;
  b.rows = reinterpret_cast<const void* const*>(inputs_);
  b.row_pitch = input_pitches_;
  b.along = static_cast<int>(axis.kernel);
  b.stride = axis.stride;
  b.dilation = axis.dilation;
  b.in = axis.in;
  b.lanes = tile_.lanes;
  b.along_first = across > along_;
  b.far = far_;
  b.y_pitch = along_ >= 0 ? out_pitch_ : tile_.lanes;
  b.y_row_pitch = across >= 0 ? layout_.axis[at(across)].pitch[kY] : 0;
  b.scratch = whole_row_;
  const bool averages = job_.problem->pool.op == Op::avg;
  const RowRun whole = {0, axis.out};
  Coords c{};
  if (across >= 0) c[at(across)] = row;
  const LowerParams p = lower_params(c);
  for (const RowRun* run = averages ? runs_ : &whole; run != (averages ? runs_ + segment_.run_count : &whole + 1);
       ++run) {
    if (averages) b.divide_all(p.divisor_of(*run), job_.problem->dtype);
    b.first = axis.start(run->begin);
    b.out = run->end - run->begin;
    b.y = y + run->begin * b.y_pitch * how_.out_bytes;
    special_ |= lane_rows_.fold(b);
  }
}

}  // namespace oriel::cpu
