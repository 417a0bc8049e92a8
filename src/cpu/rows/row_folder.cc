#include "cpu/rows/row_folder.h"

#include <cstring>
#include <memory>

#include "cpu/plan/index_rows.h"

namespace oriel::cpu {
namespace {

constexpr index_t kKeptRowsBytes = index_t{8} << 20;  // of one level
constexpr index_t kKeptKeys = index_t{1} << 16;
constexpr index_t kKeptPartsBytes = index_t{32} << 20;  // of one axis

// `n` copies of a value, by doubling.
void fill(std::byte* to, const unsigned char* value, index_t bytes, index_t n) {
  const index_t total = n * bytes;
  index_t done = std::min(bytes, total);
  std::memcpy(to, value, static_cast<std::size_t>(done));
  while (done < total) {
    const index_t more = std::min(done, total - done);
    std::memcpy(to + done, to, static_cast<std::size_t>(more));
    done += more;
  }
}

}  // namespace

RowFolder::RowFolder(const FoldJob& job, const RowReduction& reduction, const Tiling& tiling, Arena& arena,
                     bool scan_order)
    : job_(job),
      layout_(job.layout),
      how_(reduction),
      tiling_(tiling),
      arena_(arena),
      counts_(reduction.lower != nullptr && reduction.counts),
      repeats_(job.problem != nullptr && (reduction.any_order || scan_order)) {  // extrema
  index_t radix = 1;
  std::uint64_t step = 1;
  for (int a = layout_.pooled() - 1; a >= 0; --a) {
    const Axis& axis = layout_.axis[at(a)].axis;
    radix_[at(a)] = radix;
    radix *= axis.kernel;
    number_step_[at(a)] = step;
    step *= static_cast<std::uint64_t>(std::max(axis.in, axis.out)) + 1;
  }
  // Sums follow the problem's order (S8); where order does not matter the row axis comes last and works on least.
  const auto add_stage = [this](int a) {
    const Axis& axis = layout_.axis[at(a)].axis;
    if (a == layout_.row_axis) row_stage_ = stage_.size();
    stage_.push_back({a, &axis, radix_[at(a)], ring(axis), counts_ ? axis.full() : Range{}});
  };
  for (int i = 0; i < layout_.pooled(); ++i) {
    const int a = scan_order ? layout_.pooled() - 1 - i : i;
    if (!(how_.any_order && a == layout_.row_axis)) add_stage(a);
  }
  if (how_.any_order && layout_.row_axis >= 0) add_stage(layout_.row_axis);
  const index_t lanes = layout_.lanes.n;
  const Pitches none{};
  const Pitches& row = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch : none;
  const Axis* axis = layout_.row_axis >= 0 ? &layout_.axis[at(layout_.row_axis)].axis : nullptr;
  dense_x_ = (lanes == 1 || layout_.lanes.pitch[kX] == 1) && (!axis || axis->in == 1 || row[kX] == lanes);
  dense_y_ = (lanes == 1 || layout_.lanes.pitch[kY] == 1) && (!axis || axis->out == 1 || row[kY] == lanes);
  in_place_ = how_.lift == nullptr && dense_x_;
  rows_ascend_ = in_place_ && layout_.pooled() == (layout_.row_axis >= 0 ? 2 : 1) && row_stage_ != 0 &&
                 stage_[0].axis->dilation == 1 && stage_[0].axis->kernel <= kMaxFold;
  make_levels();
  if (row_stage_ >= 0) make_window_scratch();
}

RowFolder::Slots RowFolder::make_slots(index_t count, index_t elems) {
  Slots s;
  s.count = count;
  s.value_bytes = (elems * how_.value_bytes + 127) / 64 * 64;  // at least one element of slack
  s.extra_bytes = how_.extra_bytes == 0 ? 0 : (elems * how_.extra_bytes + 127) / 64 * 64;
  s.value = arena_.take(count * s.value_bytes);
  if (s.extra_bytes != 0) s.extra = arena_.take(count * s.extra_bytes);
  s.keys = arena_.take_array<Key>(count);
  for (index_t i = 0; i < count; ++i) s.keys[i] = Key{};
  return s;
}

// Slots for folds of 2^i taps, for every power up to `most`: few windows are long, so nobody else pays for them.
RowFolder::Slots* RowFolder::make_sizes(index_t most) {
  const index_t count = log2_of(most) + 1;
  Slots* sizes = arena_.take_array<Slots>(count);
  std::uninitialized_value_construct_n(sizes, count);
  return sizes;
}

// How many inputs of an axis must be at hand for one window after the other, as a power of two.
index_t RowFolder::ring(const Axis& axis) {
  index_t places = std::min(axis.kernel, kMaxFold);
  if (!axis.adaptive) {
    const index_t block = (places - 1) * axis.dilation + 1;
    places = axis.kernel <= kMaxFold ? block : std::max(block, std::min<index_t>(axis.extent(), 64));
  }
  const index_t inputs = std::max<index_t>(1, std::min(axis.in, (places - 1) / axis.spacing + 1));
  return static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(inputs)));
}

void RowFolder::make_levels() {
  const index_t widest =
      std::max({tiling_.in_elems, tiling_.out_elems, tiling_.place_elems, tiling_.before_elems, tiling_.after_elems});
  const Slots identity = make_slots(1, widest);
  identity_ = slot(identity, 0, 0);
  fill(identity.value, how_.identity.data(), how_.value_bytes, widest);
  if (identity.extra) fill(identity.extra, how_.absent_extra.data(), how_.extra_bytes, widest);
  for (int level = 0; level < stage_.size(); ++level) {
    index_t elems = row_stage_ >= 0 && row_stage_ < level ? tiling_.out_elems : tiling_.in_elems;
    if (level == row_stage_) elems += tiling_.before_elems + tiling_.after_elems;
    const bool in_place = level == 0 && in_place_;  // then only what has been scanned is remembered
    const index_t most = (in_place ? kKeptKeys : kKeptRowsBytes / (elems * how_.value_bytes + 1)) + 1;
    index_t count = 1;
    if (level != row_stage_) {
      count = stage_[at(level)].ring;
      for (int s = level + 1; s < stage_.size() && count < most; ++s) {
        if (s != row_stage_) count *= std::max<index_t>(1, stage_[at(s)].axis->in);
      }
      count = std::max(stage_[at(level)].ring, std::min(count, most) / stage_[at(level)].ring * stage_[at(level)].ring);
    }
    levels_.push_back(level == 0 && rows_ascend_ ? Slots{} : make_slots(count, in_place ? 0 : elems));
    parts_.push_back(level != row_stage_ ? make_parts(*stage_[at(level)].axis, elems) : Parts{});
  }
  if (how_.lift != nullptr && how_.scan != nullptr && !dense_x_) {
    raw_.value = arena_.take(tiling_.in_elems * how_.in_bytes);
  }
  result_ = make_slots(1, tiling_.out_elems);
  if (row_stage_ >= 0 && (row_stage_ == 0 || stage_[at(row_stage_)].axis->spacing != 1)) {
    staging_ = make_slots(1, tiling_.before_elems + tiling_.place_elems + tiling_.after_elems);
  }
  runs_ = arena_.take_array<RowRun>(tiling_.out_elems);
}

// A long window is its powers of two (S8), and each of those two halves: those at one place serve several windows.
RowFolder::Parts RowFolder::make_parts(const Axis& axis, index_t elems) {
  Parts parts;
  if (axis.kernel <= kMaxFold) return parts;
  const index_t top = detail::floor_power_of_two(axis.kernel);
  std::array<index_t, 64> count{};
  index_t last = 0;      // furthest tap at which a part of twice the size begins
  index_t offset = top;  // where the window's own part of this size begins
  index_t total = 0;
  count[at(log2_of(top))] = 1;
  for (index_t m = top / 2; m >= 2; m /= 2) {
    index_t low = last, high = last + m;
    const bool own = (axis.kernel & m) != 0;
    if (own) {
      low = std::min(low, offset);
      high = std::max(high, offset);
      offset += m;
    }
    if (m < kMaxFold) low = high;  // folded from its taps at once, for one window
    count[at(log2_of(m))] = (high - low) * axis.dilation + 1;
    total += count[at(log2_of(m))];
    last = high;
  }
  parts.kept = !axis.adaptive && axis.stride < axis.extent() && kMaxFold * axis.dilation % axis.stride == 0 &&
               total * elems * (how_.value_bytes + how_.extra_bytes) <= kKeptPartsBytes;
  parts.size = make_sizes(top);
  for (index_t m = 2; m <= top; m *= 2) {
    parts.size[log2_of(m)] = make_slots(parts.kept ? count[at(log2_of(m))] : kTurns, elems);
  }
  return parts;
}

RowOut RowFolder::slot(const Slots& slots, index_t i, index_t offset) const {
  RowOut out;
  out.value = slots.value + i * slots.value_bytes + offset * how_.value_bytes;
  if (slots.extra != nullptr) out.extra = slots.extra + i * slots.extra_bytes + offset * how_.extra_bytes;
  return out;
}

// The slot of a row after `level` stages. Rows that one fold reads together never meet in a slot.
index_t RowFolder::slot_index(int level, const Coords& c) const {
  if (level == row_stage_) return 0;
  const Stage& first = stage_[at(level)];
  index_t index = c[at(first.number)] & (first.ring - 1);
  index_t step = first.ring;
  for (int s = level + 1; s < stage_.size(); ++s) {
    if (s == row_stage_) continue;
    index += step * c[at(stage_[at(s)].number)];
    step *= stage_[at(s)].axis->in;
  }
  const index_t count = levels_[at(level)].count;
  return index < count ? index : index % count;
}

// A row's number among all rows of a task.
std::uint64_t RowFolder::row_number(const Coords& c) const {
  std::uint64_t number = 0;
  for (int a = 0; a < layout_.pooled(); ++a) number += static_cast<std::uint64_t>(c[at(a)]) * number_step_[at(a)];
  return number;
}

// True when slot i holds that row; otherwise it is going to.
bool RowFolder::find(const Slots& slots, index_t i, std::uint64_t row, index_t place) const {
  Key& key = slots.keys[i];
  if (key.task == task_ && key.row == row && key.place == place) return true;
  key = {task_, row, place};
  return false;
}

index_t RowFolder::offset_of(const Coords& c, Operand operand) const {
  index_t offset = 0;
  for (int a = 0; a < layout_.pooled(); ++a) {
    if (a != layout_.row_axis) offset += c[at(a)] * layout_.axis[at(a)].pitch[operand];
  }
  return offset;
}

void RowFolder::gather_raw(const std::byte* x, std::byte* out) const {
  const index_t pitch = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch[kX] : 0;
  for (index_t p = 0; p < tile_.axis.in; ++p) {
    for (index_t l = 0; l < tile_.lanes; ++l) {
      std::memcpy(out, x + (p * pitch + l * layout_.lanes.pitch[kX]) * how_.in_bytes, at(how_.in_bytes));
      out += how_.in_bytes;
    }
  }
}

// A row of inputs as accumulators: where it lies, or lifted.
RowIn RowFolder::leaf(Coords& c) {
  Slots& slots = levels_[0];
  const std::byte* x = x_ + offset_of(c, kX) * how_.in_bytes;
  const index_t n = tile_.in_elems();
  if (in_place_) {
    if (how_.scan != nullptr && !find(slots, slot_index(0, c), row_number(c))) {
      special_ = special_ || how_.scan(x, n, how_.scan_zeros);
    }
    return {x, nullptr, 0};
  }
  const index_t i = slot_index(0, c);
  const RowOut out = slot(slots, i, row_stage_ == 0 ? tiling_.before_elems : 0);
  if (find(slots, i, row_number(c))) return {out.value, out.extra, 0};
  const index_t pitch = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch[kX] : tile_.lanes;
  const LiftRow lift = how_.lift != nullptr ? how_.lift : how_.gather;
  lift(x, pitch, layout_.lanes.pitch[kX], tile_.axis.in, tile_.lanes, out, how_.lift_params);
  if (how_.scan != nullptr) {
    const void* seen = x;
    if (how_.lift == nullptr) {
      seen = out.value;
    } else if (!dense_x_) {
      gather_raw(x, raw_.value);
      seen = raw_.value;
    }
    special_ = special_ || how_.scan(seen, n, how_.scan_zeros);
  }
  if (row_stage_ == 0) fill_margins(slots, out);
  return {out.value, out.extra, 0};
}

// Scans rows from `input` on, as many as lie together and fit the first cache, before they are folded from there.
void RowFolder::scan_ahead(index_t input) {
  const Stage& stage = stage_[0];
  const index_t pitch = layout_.axis[at(stage.number)].pitch[kX], n = tile_.in_elems();
  index_t rows = 1;
  if (pitch == n) rows = std::clamp<index_t>(kScanBytes / (n * how_.in_bytes), 1, scan_end_ - input);
  special_ = special_ || how_.scan(x_ + input * pitch * how_.in_bytes, rows * n, how_.scan_zeros);
  scanned_ = input + rows;
}

// The row at c after `level` stages.
RowIn RowFolder::row(int level, Coords& c) {
  if (level == 0) return leaf(c);
  Slots& slots = levels_[at(level)];
  const index_t i = slot_index(level, c);
  const RowOut out = slot(slots, i, row_stage_ == level ? tiling_.before_elems : 0);
  if (!find(slots, i, row_number(c))) {
    fold_stage(level - 1, c, out);
    if (row_stage_ == level) fill_margins(slots, out);
  }
  return {out.value, out.extra, 0};
}

void RowFolder::fold_stage(int stage, Coords& c, RowOut out) {
  if (stage == row_stage_)
    fold_along(stage, c, out);
  else
    fold_across(stage, c, out);
}

// The row that a tap at `place` of the stage's axis reads; an absent one where nothing stands there.
RowIn RowFolder::tap_row(int stage, Coords& c, index_t place, index_t step) {
  const index_t input = stage_[at(stage)].axis->input_at(place);
  if (input < 0) return {identity_.value, identity_.extra, step};
  index_t& coord = c[at(stage_[at(stage)].number)];
  const index_t output = coord;
  coord = input;
  RowIn r = row(stage, c);
  coord = output;
  r.step = step;
  return r;
}

// The fold of `taps` taps, a power of two, beginning at `place`.
RowIn RowFolder::part(int stage, Coords& c, index_t taps, index_t place) {
  if (taps == 1) return tap_row(stage, c, place, 0);
  const int a = stage_[at(stage)].number;
  Parts& parts = parts_[at(stage)];
  Slots& slots = parts.size[log2_of(taps)];
  Coords here = c;
  here[at(a)] = 0;  // of this axis, only the place matters
  const index_t i = parts.kept ? (place % slots.count + slots.count) % slots.count : slots.turn++ % slots.count;
  const RowOut out = slot(slots, i, 0);
  if (find(slots, i, row_number(here), place) && parts.kept) return {out.value, out.extra, 0};
  const index_t dilation = stage_[at(stage)].axis->dilation, radix = radix_[at(a)];
  RowIn rows[kMaxFold];
  if (taps <= kMaxFold) {
    for (index_t t = 0; t < taps; ++t) rows[t] = tap_row(stage, c, place + t * dilation, t * radix);
    how_.fold.fold_rows(rows, static_cast<int>(taps), elems(stage), out);
  } else {
    rows[0] = part(stage, c, taps / 2, place);
    rows[1] = part(stage, c, taps / 2, place + taps / 2 * dilation);
    rows[1].step = taps / 2 * radix;
    how_.fold.fold_rows(rows, 2, elems(stage), out);
  }
  return {out.value, out.extra, 0};
}

// Adds the powers of two of a window, largest first.
void RowFolder::join(const RowIn* parts, int count, index_t n, RowOut out) const {
  if (count <= 3)
    how_.fold.fold_rows(parts, count, n, out);  // for so few the tree is the same
  else
    how_.fold.fold_left(parts, count, n, out);
}

// One row of outputs along an axis that runs across rows.
void RowFolder::fold_across(int stage, Coords& c, RowOut out) {
  const Axis& axis = *stage_[at(stage)].axis;
  const index_t o = c[at(stage_[at(stage)].number)], radix = stage_[at(stage)].radix;
  const index_t width = axis.width(o), start = axis.start(o);
  if (width <= kMaxFold) {
    RowIn rows[kMaxFold];
    if (stage == 0 && rows_ascend_) {
      const index_t pitch = layout_.axis[at(stage_[0].number)].pitch[kX] * how_.in_bytes;
      for (index_t t = 0; t < width; ++t) {
        const index_t input = axis.input_at(start + t);
        rows[t].value = input < 0 ? identity_.value : x_ + input * pitch;
        if (how_.scan != nullptr && input >= scanned_) scan_ahead(input);
      }
      return how_.fold.fold_rows(rows, static_cast<int>(width), elems(stage), out);
    }
    for (index_t t = 0; t < width; ++t) rows[t] = tap_row(stage, c, start + t * axis.dilation, t * radix);
    return how_.fold.fold_rows(rows, static_cast<int>(width), elems(stage), out);
  }
  RowIn rows[64];
  int count = 0;
  for (index_t t = 0; t < width;) {
    const index_t m = detail::floor_power_of_two(width - t);
    rows[count] = part(stage, c, m, start + t * axis.dilation);
    rows[count++].step = t * radix;
    t += m;
  }
  join(rows, count, elems(stage), out);
}

void RowFolder::set_tile(index_t number) {
  if (number == tile_number_) return;
  tile_number_ = number;
  tile_ = tiling_.tile(number);
  if (counts_) count_taps();
}

// The runs of outputs of the tile that count alike.
void RowFolder::count_taps() {
  run_count_ = 0;
  const Range full = tile_.axis.full();
  for (index_t o = 0; o < tile_.axis.out;) {
    RowRun run = {o, o + 1, tile_.axis.divisor(o, how_.count_include_pad), tile_.axis.taps(o).size()};
    if (full.contains(o)) run.end = full.end;
    o = run.end;
    RowRun& last = runs_[std::max<index_t>(0, run_count_ - 1)];
    if (run_count_ > 0 && last.divisor == run.divisor && last.taps == run.taps) {
      last.end = run.end;
    } else {
      runs_[run_count_++] = run;
    }
  }
}

LowerParams RowFolder::lower_params(const Coords& c) const {
  LowerParams p;
  if (!counts_) return p;
  p.norm = how_.norm;
  p.missing = how_.missing;
  p.fixed_divisor = how_.divisor > 0;
  for (const Stage& s : stage_) {
    if (s.number == layout_.row_axis) continue;
    const index_t o = c[at(s.number)];
    const bool full = s.full.contains(o);
    p.divisor *= full ? s.axis->kernel : s.axis->divisor(o, how_.count_include_pad);
    p.taps *= full ? s.axis->kernel : s.axis->taps(o).size();
  }
  if (p.fixed_divisor) p.divisor = how_.divisor;
  p.runs = runs_;
  p.run_count = run_count_;
  return p;
}

// The last fold, and the result from it.
void RowFolder::finish(Coords& c) {
  std::byte* y = y_ + offset_of(c, kY) * how_.out_bytes;
  if (how_.lower == nullptr && dense_y_ && job_.index == nullptr) return fold_stage(stage_.size() - 1, c, {y, nullptr});
  const RowOut out = slot(result_, 0, 0);
  fold_stage(stage_.size() - 1, c, out);
  const index_t pitch = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch[kY] : tile_.lanes;
  const LowerRow lower = how_.lower != nullptr ? how_.lower : how_.store;
  const RowIn folded = {out.value, out.extra, 0};
  lower(folded, tile_.axis.out, tile_.lanes, lower_params(c), y, pitch, layout_.lanes.pitch[kY]);
  if (job_.index == nullptr || folded.extra == nullptr) return;
  write_indices(c, folded);
}

void RowFolder::write_indices(const Coords& c, RowIn row) {
  IndexRow where{.parts = {}, .origin = flat_, .lanes = tile_.lanes};
  for (int a = 0; a < layout_.pooled(); ++a) {
    const bool along = a == layout_.row_axis;
    where.parts[at(a)] = {along ? &tile_.axis : &layout_.axis[at(a)].axis, along ? tile_.in_begin : 0, c[at(a)],
                          radix_[at(a)]};
  }
  std::byte* out = index_ + offset_of(c, kIndex) * size_bytes(job_.index_dtype);
  write_index_row(job_, where, row.extra, how_.extra_bytes, tile_.axis.out, out);
}

bool RowFolder::fold(index_t plane, index_t tile, Range rows) {
  set_tile(tile);
  ++task_;
  special_ = false;
  if (rows_ascend_) {
    const Range inputs = stage_[0].axis->needs(rows);
    scanned_ = inputs.begin;
    scan_end_ = inputs.end;
  }
  const Pitches none{};
  const Pitches& row = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch : none;
  const Pitches& lane = layout_.lanes.pitch;
  const auto begin = [&](Operand operand, index_t along) {
    return layout_.plane_offset(plane, operand) + along * row[operand] + tile_.lane_begin * lane[operand];
  };
  x_ = static_cast<const std::byte*>(job_.x) + begin(kX, tile_.in_begin) * how_.in_bytes;
  y_ = static_cast<std::byte*>(job_.y) + begin(kY, tile_.out_begin) * how_.out_bytes;
  if (job_.index != nullptr) {
    index_ = static_cast<std::byte*>(job_.index) + begin(kIndex, tile_.out_begin) * size_bytes(job_.index_dtype);
    flat_ = begin(kFlat, 0);
  }
  if (is_simple()) return fold_simple(rows);
  Coords c = first_row(rows.begin);
  for (index_t r = rows.begin; r < rows.end; ++r, next_row(c)) {
    done_ = r;
    finish(c);
    if (special_) return false;
  }
  return true;
}

RowFolder::Coords RowFolder::first_row(index_t number) const {
  Coords c{};
  for (int a = layout_.pooled() - 1; a >= 0; --a) {
    if (a == layout_.row_axis) continue;
    c[at(a)] = number % layout_.axis[at(a)].axis.out;
    number /= layout_.axis[at(a)].axis.out;
  }
  return c;
}

void RowFolder::next_row(Coords& c) const {
  for (int a = layout_.pooled() - 1; a >= 0; --a) {
    if (a == layout_.row_axis) continue;
    if (++c[at(a)] < layout_.axis[at(a)].axis.out) return;
    c[at(a)] = 0;
  }
}

}  // namespace oriel::cpu
