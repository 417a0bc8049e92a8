#include "cpu/channels/channels.h"

#include <algorithm>
#include <cstring>

#include "cpu/exact/mend.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kSegmentBytes = index_t{64} << 10;  // accumulators under a segment of a row that is no row axis
constexpr index_t kPieceBytes = index_t{16} << 10;    // accumulators of a piece of a row
constexpr index_t kMostTwice = 5;                     // at most a fifth of them are made twice
constexpr int kMostAcross = 2;
constexpr index_t kFarBytes =
    index_t{4} << 20;  // 3x3 step 2: 8x35x35x288 gains a third by prefetching, 1x14x14x2048 loses

int log2_of(index_t m) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(m))) - 1; }

// The window sizes and steps that this way is quick with.
bool pays_along(const Axis& axis, bool along) {
  if (axis.adaptive) return true;
  if (along && axis.stride > axis.extent()) return false;  // accumulators would be made that nobody reads
  return axis.kernel <= kMaxFold || axis.stride >= axis.kernel;
}

}  // namespace

bool can_columns(const FoldJob& job) {
  const RowLayout& layout = job.layout;
  if (job.problem == nullptr || job.index != nullptr) return false;
  if (layout.lanes.n < kFewestStepLanes || layout.lanes.pitch[kX] != 1 || layout.lanes.pitch[kY] != 1) return false;
  const int along = axis_along(layout);
  if (layout.pooled() - (along >= 0 ? 1 : 0) > kMostAcross) return false;
  if (!job.plain.any_order && along >= 0 && along != layout.pooled() - 1) return false;  // S8
  if (std::any_of(layout.axis.begin(), layout.axis.end(), [](const PooledAxis& a) { return a.axis.spacing != 1; }))
    return false;
  return element_kernels(*job.problem, job.plain).fold_elements != nullptr;
}

bool columns_pay(const FoldJob& job) {
  const int along = axis_along(job.layout);
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (!pays_along(job.layout.axis[static_cast<std::size_t>(a)].axis, a == along)) return false;
  }
  return true;
}

void run_columns(const FoldJob& job, int threads) {
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads());
  const auto fold_tasks = [&](index_t begin, index_t end) {
    Arena arena;
    ColumnFolder plain(job, tiling, arena);
    CarefulRows careful(job);
    for (index_t task = begin; task < end; ++task) {
      const index_t band = task % tiling.bands, tile = task / tiling.bands % tiling.tiles;
      const index_t plane = task / tiling.bands / tiling.tiles;
      const Range rows = {band * tiling.band_rows, std::min(tiling.rows, (band + 1) * tiling.band_rows)};
      if (plain.fold(plane, tile, rows) || (mends(job) && careful.mend(plane, tile, tiling, rows))) continue;
      careful.fold(plane, tile, tiling, rows);
    }
  };
  parallel_for(job.layout.plane_count() * tiling.tiles * tiling.bands, tiling.task_bytes, threads, fold_tasks);
}

ColumnFolder::ColumnFolder(const FoldJob& job, const Tiling& tiling, Arena& arena)
    : job_(job),
      layout_(job.layout),
      how_(job.plain),
      tiling_(tiling),
      arena_(arena),
      kernels_(element_kernels(*job.problem, job.plain)),
      along_(axis_along(job.layout)),
      mends_(mends(job)) {
  for (int a = 0; a < layout_.pooled(); ++a) {
    axis_[at(a)] = layout_.axis[at(a)].axis;
    if (a != along_) across_.push_back(a);
  }
  const index_t lanes = std::min(layout_.lanes.n, tiling_.in_elems);
  in_pitch_ = out_pitch_ = lanes;
  dense_ = true;
  if (along_ >= 0) {
    const PooledAxis& along = layout_.axis[at(along_)];
    in_pitch_ = along.pitch[kX];
    out_pitch_ = along.pitch[kY];
    const bool all_lanes = layout_.row_axis >= 0 || tiling_.tiles == 1;
    dense_ = along.axis.in == 1 || (in_pitch_ == layout_.lanes.n && all_lanes);
  }
  far_ = element_count(job.problem->shape) * how_.in_bytes >= kFarBytes;
  lane_rows_ = lane_rows_of(job);
  if (tiling.tile(tiling.tiles - 1).lanes < lane_rows_.fewest_lanes) lane_rows_ = {};
  make_buffers();
}

void ColumnFolder::make_buffers() {
  index_t elems = tiling_.in_elems, margins = tiling_.before_elems + tiling_.after_elems, outputs = tiling_.out_elems;
  if (layout_.row_axis < 0 && along_ >= 0) {
    const Axis& axis = axis_[at(along_)];
    const index_t lanes = tiling_.in_elems, extent = axis.adaptive ? axis.kernel : axis.extent();
    const index_t places = std::max(extent, kSegmentBytes / (lanes * how_.value_bytes));
    const index_t step = axis.adaptive ? std::max<index_t>(1, axis.in / axis.out) + 1 : axis.stride;
    segment_outputs_ = std::min(axis.out, (places - extent) / step + 1);
    elems = std::min(axis.in, extent + segment_outputs_ * step) * lanes;
    margins = 2 * (extent + segment_outputs_ * step) * lanes;
    outputs = segment_outputs_ * lanes;
  }
  if (lane_rows_.fold != nullptr) return make_lane_buffers();
  whole_row_ = buffer(elems + margins, how_.value_bytes);
  absent_ = buffer(elems, how_.value_bytes);
  fill_identity(absent_, elems);
  result_ = buffer(outputs, how_.value_bytes);
  identity_ = make_identity(*job_.problem, elems, arena_);
  index_t most_taps = 1;
  for (int a = 0; a < layout_.pooled(); ++a) most_taps = std::max(most_taps, axis_[at(a)].kernel);
  inputs_ = arena_.take_array<const std::byte*>(most_taps);
  taps_ = arena_.take_array<RowIn>(most_taps);
  runs_ = all_runs_ = arena_.take_array<RowRun>(outputs);
  if (layout_.row_axis >= 0) pieces_ = arena_.take_array<Segment>(tiling_.out_elems / layout_.lanes.n + 1);
  power_bytes_ = (elems * how_.value_bytes + 127) / 64 * 64;
  if (most_taps > kMaxFold) powers_ = buffer((log2_of(most_taps) + 1) * kTurns, power_bytes_);
  if (across_.size() == kMostAcross) {
    const Axis& axis = axis_[at(across_[1])];
    const index_t inputs = std::min(axis.in, axis.adaptive ? axis.kernel + 1 : axis.extent());
    plane_count_ = static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<index_t>(1, inputs))));
    plane_bytes_ = power_bytes_;
    planes_ = buffer(plane_count_, plane_bytes_);
    plane_keys_ = arena_.take_array<index_t>(plane_count_);
  }
}

bool ColumnFolder::fold(index_t plane, index_t tile, Range rows) {
  set_tile(tile);
  special_ = false;
  scanned_ = 0;
  for (index_t i = 0; i < plane_count_; ++i) plane_keys_[i] = -1;
  const Pitches none{};
  const Pitches& row = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch : none;
  const auto begin = [&](Operand operand, index_t along) {
    return layout_.plane_offset(plane, operand) + along * row[operand] +
           tile_.lane_begin * layout_.lanes.pitch[operand];
  };
  x_ = static_cast<const std::byte*>(job_.x) + begin(kX, tile_.in_begin) * how_.in_bytes;
  y_ = static_cast<std::byte*>(job_.y) + begin(kY, tile_.out_begin) * how_.out_bytes;
  if (lane_rows_.fold != nullptr) return fold_lane_rows(rows);
  const bool whole_rows = layout_.row_axis >= 0 || along_ < 0;
  const index_t along = whole_rows ? 1 : axis_[at(along_)].out;
  for (index_t r = rows.begin; r < rows.end && goes_on();) {
    Coords c{};
    index_t number = r / along;
    index_t step = 1, in = 0, out = 0;
    for (index_t i = across_.size() - 1; i >= 0; --i) {
      const int a = across_[at(i)];
      c[at(a)] = number % axis_[at(a)].out;
      number /= axis_[at(a)].out;
      out += c[at(a)] * layout_.axis[at(a)].pitch[kY];
    }
    if (!whole_rows) {
      const Axis& axis = axis_[at(along_)];
      const index_t o = r % along;
      step = std::min({segment_outputs_ - o % segment_outputs_, along - o, rows.end - r});
      set_segment(axis.slice({o, o + step}), o);
      in = (segment_.axis.in_offset - axis.in_offset) * in_pitch_;
      out += o * out_pitch_;
      scanned_ = 0;
      for (index_t i = 0; i < plane_count_; ++i) plane_keys_[i] = -1;
    }
    if (whole_rows && piece_count_ > 1)
      fold_pieces(c, y_ + out * how_.out_bytes);
    else
      fold_row(c, x_ + in * how_.in_bytes, y_ + out * how_.out_bytes);
    r += step;
  }
  return !special_;
}

void ColumnFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  segment_.out_begin = -1;
  if (layout_.row_axis < 0 && along_ >= 0) return;
  const Axis& axis = tile_.axis;
  const index_t outputs = piece_outputs(axis);
  piece_count_ = (axis.out + outputs - 1) / outputs;
  if (piece_count_ == 1) return set_segment(axis, 0);
  for (index_t i = 0; i < piece_count_; ++i) {
    runs_ = all_runs_ + i * outputs;
    set_segment(axis.slice({i * outputs, std::min(axis.out, (i + 1) * outputs)}), i * outputs);
    pieces_[i] = segment_;
  }
}

// How many outputs of a row of the layout are folded at a time: so that their accumulators stay in the first cache,
// and few are made twice.
index_t ColumnFolder::piece_outputs(const Axis& axis) const {
  const index_t place_bytes = tile_.lanes * how_.value_bytes, row_bytes = axis.in * place_bytes;
  if (lane_rows_.fold != nullptr) return axis.out;
  if (across_.size() != 1 || axis.adaptive || along_ < 0 || row_bytes <= kPieceBytes + kPieceBytes / 2) return axis.out;
  const index_t outputs = kPieceBytes / (place_bytes * axis.stride);
  return axis.extent() * kMostTwice > outputs * axis.stride ? axis.out : std::min(outputs, axis.out);
}

// A row of the layout, piece by piece.
void ColumnFolder::fold_pieces(const Coords& c, std::byte* y) {
  const index_t outputs = pieces_[1].out_begin, watched = scanned_;
  for (index_t i = 0; i < piece_count_ && goes_on(); ++i) {
    segment_ = pieces_[i];
    runs_ = all_runs_ + i * outputs;
    fill_margins();
    scanned_ = watched;
    const index_t in = (segment_.axis.in_offset - pieces_[0].axis.in_offset) * in_pitch_;
    fold_row(c, x_ + in * how_.in_bytes, y + segment_.out_begin * out_pitch_ * how_.out_bytes);
  }
}

void ColumnFolder::set_segment(const Axis& axis, index_t out_begin) {
  if (segment_.out_begin == out_begin && segment_.axis == axis) return;
  segment_.axis = axis;
  segment_.out_begin = out_begin;
  segment_.before = std::max<index_t>(0, -axis.start(0));
  segment_.after = std::max<index_t>(0, axis.at(axis.out - 1, axis.width(axis.out - 1) - 1) + 1 - axis.in);
  if (lane_rows_.fold == nullptr) fill_margins();
  count_runs();
}

// Identities around the row of accumulators.
void ColumnFolder::fill_margins() {
  const index_t lanes = tile_.lanes, bytes = how_.value_bytes;
  row_ = whole_row_ + (segment_.before * lanes * bytes + 63) / 64 * 64;
  fill_identity(row_ - segment_.before * lanes * bytes, segment_.before * lanes);
  fill_identity(row_ + segment_.axis.in * lanes * bytes, segment_.after * lanes);
}

void ColumnFolder::fill_identity(std::byte* to, index_t n) const {
  const index_t bytes = how_.value_bytes;
  if (n <= 0) return;
  std::memcpy(to, how_.identity.data(), at(bytes));
  for (index_t done = 1; done < n;) {
    const index_t more = std::min(done, n - done);
    std::memcpy(to + done * bytes, to, at(more * bytes));
    done += more;
  }
}

// The runs of outputs of the segment that count alike.
void ColumnFolder::count_runs() {
  segment_.run_count = 0;
  segment_.has_taps = true;
  if (how_.lower == nullptr || !how_.counts) return;
  const Axis& axis = segment_.axis;
  const Range full = axis.full();
  for (index_t o = 0; o < axis.out;) {
    RowRun run = {o, o + 1, axis.divisor(o, how_.count_include_pad), axis.taps(o).size()};
    if (full.contains(o)) run.end = full.end;
    o = run.end;
    segment_.has_taps = segment_.has_taps && run.taps > 0;
    RowRun* last = segment_.run_count > 0 ? runs_ + segment_.run_count - 1 : nullptr;
    if (last != nullptr && last->divisor == run.divisor && last->taps == run.taps)
      last->end = run.end;
    else
      runs_[segment_.run_count++] = run;
  }
}

void ColumnFolder::fold_row(const Coords& c, const std::byte* x, std::byte* y) {
  if (across_.size() == kMostAcross)
    fold_two(c, x, row_);
  else if (across_.size() == 1)
    fold_down(across_[0], c[at(across_[0])], x, row_);
  else
    fold_down(-1, 0, x, row_);
  if (!goes_on()) return;
  const Dtype dtype = job_.problem->dtype;
  bool direct = how_.lower == nullptr;
  if (job_.problem->pool.op == Op::sum && (dtype == Dtype::f32 || dtype == Dtype::f64)) {
    direct = segment_.has_taps;  // then nothing is left to be rounded
    for (int a : across_) direct = direct && !axis_[at(a)].taps(c[at(a)]).empty();
  }
  if (direct) return fold_along(y, along_ >= 0 ? out_pitch_ : tile_.lanes);
  fold_along(result_, tile_.lanes);
  how_.lower({result_, nullptr, 0}, segment_.axis.out, tile_.lanes, lower_params(c), y,
             along_ >= 0 ? out_pitch_ : tile_.lanes, 1);
}

LowerParams ColumnFolder::lower_params(const Coords& c) const {
  LowerParams p;
  if (!how_.counts) return p;
  p.norm = how_.norm;
  p.fixed_divisor = how_.divisor > 0;
  for (int a : across_) {
    p.divisor *= axis_[at(a)].divisor(c[at(a)], how_.count_include_pad);
    p.taps *= axis_[at(a)].taps(c[at(a)]).size();
  }
  if (p.fixed_divisor) p.divisor = how_.divisor;
  p.runs = runs_;
  p.run_count = segment_.run_count;
  return p;
}

// Folds along the first axis what the second one needs, once for all windows of the second that read it.
void ColumnFolder::fold_two(const Coords& c, const std::byte* x, std::byte* out) {
  const int first = across_[0], second = across_[1];
  const Axis& axis = axis_[at(second)];
  const index_t o = c[at(second)], width = axis.width(o), start = axis.start(o);
  const index_t pitch = layout_.axis[at(second)].pitch[kX] * how_.in_bytes;
  for (index_t t = 0; t < width; ++t) {
    const index_t input = axis.input_at(start + t * axis.dilation);
    taps_[t] = {absent_, nullptr, 0};
    if (input < 0) continue;
    const index_t slot = input & (plane_count_ - 1), key = c[at(first)] * axis.in + input;
    std::byte* folded = planes_ + slot * plane_bytes_;
    taps_[t].value = folded;
    if (plane_keys_[slot] == key) continue;
    plane_keys_[slot] = key;
    scanned_ = 0;  // what was watched at another place tells nothing
    fold_down(first, c[at(first)], x + input * pitch, folded);
  }
  const index_t n = segment_.axis.in * tile_.lanes;
  fold_many(width, n, out, [&](index_t begin, index_t count, std::byte* to) {
    how_.fold.fold_rows(taps_ + begin, static_cast<int>(count), n, {to, nullptr});
  });
}

// Writes where the rows lie that an output of an axis across them reads; without one the row itself. Returns how many
// of them, at the end, no earlier window has read.
index_t ColumnFolder::list_inputs(int number, index_t output, const std::byte* x, const std::byte** inputs) {
  if (number < 0) {
    inputs[0] = x;
    return 1;
  }
  const Axis& axis = axis_[at(number)];
  const index_t pitch = layout_.axis[at(number)].pitch[kX] * how_.in_bytes;
  const index_t width = axis.width(output), start = axis.start(output);
  index_t watched = 0;
  for (index_t t = 0; t < width; ++t) {
    const index_t input = axis.input_at(start + t * axis.dilation);
    inputs[t] = input < 0 ? identity_ : x + input * pitch;
    if (watched > 0 || input >= scanned_) ++watched;
    if (input >= scanned_ && axis.dilation == 1) scanned_ = input + 1;
  }
  return axis.dilation > 1 ? width : watched;  // rows between those of one window are read by the next
}

// Folds rows of elements along an axis across them; without one, only lifts a row.
void ColumnFolder::fold_down(int number, index_t output, const std::byte* x, std::byte* out) {
  const index_t watched = list_inputs(number, output, x, inputs_);
  const index_t width = number >= 0 ? axis_[at(number)].width(output) : 1;
  fold_many(width, segment_.axis.in * tile_.lanes, out, [&](index_t begin, index_t count, std::byte* to) {
    fold_elements(begin, count, std::clamp<index_t>(watched - (width - begin - count), 0, count), to);
  });
}

// The rows inputs_[first, first + count).
void ColumnFolder::fold_elements(index_t first, index_t count, index_t watched, std::byte* out) {
  const int n = static_cast<int>(count), new_rows = static_cast<int>(watched);
  const index_t places = segment_.axis.in, lanes = tile_.lanes;
  const auto* rows = reinterpret_cast<const void* const*>(inputs_ + first);
  if (dense_ || places == 1) {
    special_ |= kernels_.fold_elements(rows, n, new_rows, places * lanes, out);
    return;
  }
  const void* here[kMaxFold];
  for (index_t p = 0; p < places; ++p) {
    for (index_t t = 0; t < count; ++t) {
      const std::byte* row = inputs_[first + t];
      here[t] = row == identity_ ? row : row + p * in_pitch_ * how_.in_bytes;
    }
    special_ |= kernels_.fold_elements(here, n, new_rows, lanes, out + p * lanes * how_.value_bytes);
  }
}

// The windows along the row of accumulators.
void ColumnFolder::fold_along(std::byte* out, index_t out_pitch) {
  const Axis& axis = segment_.axis;
  const index_t lanes = tile_.lanes, bytes = lanes * how_.value_bytes;
  if (!axis.adaptive && axis.kernel <= kMaxFold) {
    const StepShape shape = {axis.dilation * lanes, axis.stride * lanes, axis.out, lanes, out_pitch};
    return kernels_.fold_steps(row_ + axis.start(0) * bytes, static_cast<int>(axis.kernel), shape, out);
  }
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t width = axis.width(o);
    for (index_t t = 0; t < width; ++t) taps_[t] = {row_ + axis.at(o, t) * bytes, nullptr, 0};
    fold_many(width, lanes, out + o * out_pitch * how_.value_bytes, [&](index_t begin, index_t count, std::byte* to) {
      how_.fold.fold_rows(taps_ + begin, static_cast<int>(count), lanes, {to, nullptr});
    });
  }
}

template <class Leaf>
void ColumnFolder::fold_many(index_t count, index_t n, std::byte* out, const Leaf& leaf) {
  if (count <= kMaxFold) return leaf(0, count, out);
  RowIn parts[64];
  int used = 0;
  for (index_t t = 0; t < count;) {
    const index_t m = detail::floor_power_of_two(count - t);
    parts[used++] = power(t, m, n, leaf);
    t += m;
  }
  if (used <= 3)
    how_.fold.fold_rows(parts, used, n, {out, nullptr});  // for so few the tree is the same
  else
    how_.fold.fold_left(parts, used, n, {out, nullptr});
}

template <class Leaf>
RowIn ColumnFolder::power(index_t first, index_t count, index_t n, const Leaf& leaf) {
  const int size = log2_of(count);
  const index_t turn = turn_[at(size)]++ % kTurns;
  std::byte* out = powers_ + (size * kTurns + turn) * power_bytes_;
  if (count <= kMaxFold) {
    leaf(first, count, out);
  } else {
    const RowIn halves[2] = {power(first, count / 2, n, leaf), power(first + count / 2, count / 2, n, leaf)};
    how_.fold.fold_rows(halves, 2, n, {out, nullptr});
  }
  return {out, nullptr, 0};
}

}  // namespace oriel::cpu
