#include "cpu/channels/channel_folder.h"

#include <algorithm>

namespace oriel::cpu {
namespace {

constexpr index_t kSegmentBytes = index_t{64} << 10;  // accumulators under a segment of a row that is no row axis
constexpr index_t kPieceBytes = index_t{16} << 10;    // accumulators of a piece of a row
constexpr index_t kMostTwice = 5;                     // at most a fifth of them are made twice

}  // namespace

ChannelFolder::Room::Room(const ChannelAxes& axes, const Tiling& tiling)
    : elems(tiling.in_elems), margins(tiling.before_elems + tiling.after_elems), outputs(tiling.out_elems) {
  if (!axes.along_is_cut()) return;
  const Axis& axis = axes.axis(axes.along);
  const index_t lanes = tiling.in_elems, extent = axis.adaptive ? axis.kernel : axis.extent();
  const index_t places = std::max(extent, kSegmentBytes / (lanes * axes.job.plain.value_bytes));
  const index_t step = axis.adaptive ? std::max<index_t>(1, axis.in / axis.out) + 1 : axis.stride;
  segment_outputs = std::min(axis.out, (places - extent) / step + 1);
  elems = std::min(axis.in, extent + segment_outputs * step) * lanes;
  margins = 2 * (extent + segment_outputs * step) * lanes;
  outputs = segment_outputs * lanes;
}

ChannelFolder::ChannelFolder(const ChannelAxes& axes, const Tiling& tiling, Arena& arena)
    : axes_(axes),
      layout_(axes.job.layout),
      how_(axes.job.plain),
      tiling_(tiling),
      room_(axes, tiling),
      rows_(axes, room_.elems, arena),
      powers_(how_) {
  const auto buffer = [&](index_t elems) { return arena.take(elems * how_.value_bytes + 128); };
  whole_row_ = row_ = buffer(room_.elems + room_.margins);
  result_ = buffer(room_.outputs);
  runs_ = arena.take_array<RowRun>(room_.outputs);
  if (layout_.row_axis >= 0) pieces_ = arena.take_array<Segment>(tiling.out_elems / layout_.lanes.n + 1);
  if (axes.along < 0) return;
  const index_t most_taps = axes.axis(axes.along).kernel;
  taps_ = arena.take_array<RowIn>(most_taps);
  powers_.make(most_taps, std::min(layout_.lanes.n, tiling.in_elems), arena);
}

bool ChannelFolder::fold(const RowTask& task) {
  set_tile(task.tile);
  rows_.begin_tile();
  x_ = static_cast<const std::byte*>(axes_.job.x) + tile_.offset(layout_, task.plane, kX) * how_.in_bytes;
  std::byte* y = static_cast<std::byte*>(axes_.job.y) + tile_.offset(layout_, task.plane, kY) * how_.out_bytes;
  const index_t along = axes_.along_is_cut() ? axes_.axis(axes_.along).out : 1;
  for (index_t r = task.rows.begin; r < task.rows.end && goes_on();) {
    RowCoords c{};
    index_t number = r / along, to = 0;
    for (int i = axes_.across.size() - 1; i >= 0; --i) {
      const int a = axes_.across[at(i)];
      c[at(a)] = number % axes_.axis(a).out;
      number /= axes_.axis(a).out;
      to += c[at(a)] * layout_.axis[at(a)].pitch[kY];
    }
    const index_t first = r % along, left = std::min(along - first, task.rows.end - r);
    const index_t count = std::min(room_.segment_outputs - first % room_.segment_outputs, left);
    std::byte* out = y + to * how_.out_bytes;
    if (axes_.along_is_cut())
      fold_segment(c, {first, first + count}, out);
    else if (piece_count_ > 1)
      fold_pieces(c, out);
    else
      fold_row(c, x_, out);
    r += count;
  }
  return !rows_.special();
}

void ChannelFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  out_pitch_ = axes_.along >= 0 ? axes_.out_pitch : tile_.lanes;
  segment_.out_begin = -1;
  if (axes_.along_is_cut()) return;
  const Axis& axis = tile_.axis;
  const index_t outputs = piece_outputs(axis);
  piece_count_ = (axis.out + outputs - 1) / outputs;
  if (piece_count_ == 1) return set_segment(axis, 0, runs_);
  for (index_t i = 0; i < piece_count_; ++i) {
    const index_t first = i * outputs;
    set_segment(axis.slice({first, std::min(axis.out, first + outputs)}), first, runs_ + first);
    pieces_[i] = segment_;
  }
}

// How many outputs of a row of the layout are folded at a time: so that their accumulators stay in the first cache,
// and few are made twice.
index_t ChannelFolder::piece_outputs(const Axis& axis) const {
  const index_t place_bytes = tile_.lanes * how_.value_bytes, row_bytes = axis.in * place_bytes;
  const bool fits = row_bytes <= kPieceBytes + kPieceBytes / 2;
  if (fits || axes_.across.size() != 1 || axis.adaptive || axes_.along < 0) return axis.out;
  const index_t outputs = kPieceBytes / (place_bytes * axis.stride);
  return axis.extent() * kMostTwice > outputs * axis.stride ? axis.out : std::min(outputs, axis.out);
}

void ChannelFolder::set_segment(const Axis& axis, index_t out_begin, RowRun* runs) {
  if (segment_.out_begin == out_begin && segment_.axis == axis) return;
  segment_.axis = axis;
  segment_.out_begin = out_begin;
  segment_.before = std::max<index_t>(0, -axis.start(0));
  segment_.after = std::max<index_t>(0, axis.at(axis.out - 1, axis.width(axis.out - 1) - 1) + 1 - axis.in);
  fill_margins();
  if (asks_for_counts(how_)) segment_.counts.count(axis, how_, RunTaps::most, runs);
}

// Identities around the row of accumulators.
void ChannelFolder::fill_margins() {
  const index_t bytes = how_.value_bytes, before = segment_.before * tile_.lanes;
  row_ = whole_row_ + (before * bytes + 63) / 64 * 64;
  fill_copies(row_ - before * bytes, how_.identity.data(), bytes, before);
  fill_copies(row_ + segment_.axis.in * tile_.lanes * bytes, how_.identity.data(), bytes, segment_.after * tile_.lanes);
}

// Some outputs of a row that is no row axis of the layout.
void ChannelFolder::fold_segment(const RowCoords& c, Range outputs, std::byte* y) {
  const Axis& axis = axes_.axis(axes_.along);
  set_segment(axis.slice(outputs), outputs.begin, runs_);
  rows_.begin_part();
  const index_t in = (segment_.axis.in_offset - axis.in_offset) * axes_.in_pitch;
  fold_row(c, x_ + in * how_.in_bytes, y + outputs.begin * out_pitch_ * how_.out_bytes);
}

// A row of the layout, piece by piece.
void ChannelFolder::fold_pieces(const RowCoords& c, std::byte* y) {
  const index_t watched = rows_.taps().watched();
  for (index_t i = 0; i < piece_count_ && goes_on(); ++i) {
    segment_ = pieces_[i];
    fill_margins();
    rows_.taps().set_watched(watched);
    const index_t in = (segment_.axis.in_offset - pieces_[0].axis.in_offset) * axes_.in_pitch;
    fold_row(c, x_ + in * how_.in_bytes, y + segment_.out_begin * out_pitch_ * how_.out_bytes);
  }
}

void ChannelFolder::fold_row(const RowCoords& c, const std::byte* x, std::byte* y) {
  rows_.fold(c, x, segment_.axis.in, tile_.lanes, row_);
  if (!goes_on()) return;
  if (needs_no_lowering(c)) return fold_along(y, out_pitch_);
  fold_along(result_, tile_.lanes);
  how_.lower({result_, nullptr, 0}, segment_.axis.out, tile_.lanes, lower_params(c), y, out_pitch_, 1);
}

// Whether accumulators are results: nothing of a sum of floats that has taps is left to be rounded.
bool ChannelFolder::needs_no_lowering(const RowCoords& c) const {
  const Problem& problem = *axes_.job.problem;
  if (problem.pool.op != Op::sum || (problem.dtype != Dtype::f32 && problem.dtype != Dtype::f64)) {
    return how_.lower == nullptr;
  }
  if (segment_.counts.some_empty()) return false;
  return std::none_of(axes_.across.begin(), axes_.across.end(),
                      [&](int a) { return axes_.axis(a).taps(c[at(a)]).empty(); });
}

LowerParams ChannelFolder::lower_params(const RowCoords& c) const {
  LowerParams p = segment_.counts.params(how_);
  for (int a : axes_.across) add_axis(p, how_, axes_.axis(a), c[at(a)]);
  return p;
}

// The windows along the row of accumulators.
void ChannelFolder::fold_along(std::byte* out, index_t out_pitch) {
  const Axis& axis = segment_.axis;
  const index_t lanes = tile_.lanes, bytes = lanes * how_.value_bytes;
  if (!axis.adaptive && axis.kernel <= kMaxFold) {
    const StepShape shape = {axis.dilation * lanes, axis.stride * lanes, axis.out, lanes, out_pitch};
    return axes_.kernels.fold_steps(row_ + axis.start(0) * bytes, static_cast<int>(axis.kernel), shape, out);
  }
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t width = axis.width(o);
    for (index_t t = 0; t < width; ++t) taps_[t] = {row_ + axis.at(o, t) * bytes, nullptr, 0};
    powers_.fold(taps_, width, lanes, {out + o * out_pitch * how_.value_bytes, nullptr});
  }
}

}  // namespace oriel::cpu
