#include "cpu/rows/row_chain.h"

namespace oriel::cpu {
namespace {

constexpr index_t kKeptRowsBytes = index_t{8} << 20;  // of one level
constexpr index_t kKeptKeys = index_t{1} << 16;
constexpr index_t kKeptPartsBytes = index_t{32} << 20;  // of one axis
constexpr index_t kTurns = 4;  // slots of folds that are not kept: two are read while a third is written
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// How many inputs of an axis must be at hand for one window after the other, as a power of two.
index_t ring_of(const Axis& axis) {
  index_t places = std::min(axis.kernel, kMaxFold);
  if (!axis.adaptive) {
    const index_t block = (places - 1) * axis.dilation + 1;
    places = axis.kernel <= kMaxFold ? block : std::max(block, std::min<index_t>(axis.extent(), 64));
  }
  const index_t inputs = std::max<index_t>(1, std::min(axis.in, (places - 1) / axis.spacing + 1));
  return static_cast<index_t>(std::bit_ceil(static_cast<std::uint64_t>(inputs)));
}

}  // namespace

WindowParts::WindowParts(const RowReduction& how, const Axis& axis, index_t elems, Arena& arena) {
  if (axis.kernel <= kMaxFold) return;
  const index_t top = detail::floor_power_of_two(axis.kernel);
  std::array<index_t, 64> count{};
  index_t last = 0;      // furthest tap at which a part of twice the size begins
  index_t offset = top;  // where the window's own part of this size begins
  index_t total = 0;
  count[at(floor_log2(top))] = 1;
  for (index_t m = top / 2; m >= 2; m /= 2) {
    index_t low = last, high = last + m;
    const bool own = (axis.kernel & m) != 0;
    if (own) {
      low = std::min(low, offset);
      high = std::max(high, offset);
      offset += m;
    }
    if (m < kMaxFold) low = high;  // folded from its taps at once, for one window
    count[at(floor_log2(m))] = (high - low) * axis.dilation + 1;
    total += count[at(floor_log2(m))];
    last = high;
  }
  kept_ = !axis.adaptive && axis.stride < axis.extent() && kMaxFold * axis.dilation % axis.stride == 0 &&
          total * elems * (how.value_bytes + how.extra_bytes) <= kKeptPartsBytes;
  size_ = arena.take_array<RowSlots>(floor_log2(top) + 1);
  for (index_t m = 2; m <= top; m *= 2) {
    new (size_ + floor_log2(m)) RowSlots(how, kept_ ? count[at(floor_log2(m))] : kTurns, elems, arena);
  }
}

bool WindowParts::find(index_t taps, index_t place, index_t task, std::uint64_t row, RowOut& slot) {
  RowSlots& slots = size_[floor_log2(taps)];
  const index_t i = kept_ ? floor_mod(place, slots.count()) : slots.next();
  slot = slots.at(i);
  return slots.find(i, {task, row, place}) && kept_;
}

RowChain::RowChain(const RowPart& part, RowSource& source, RowWindows& windows, Arena& arena)
    : part_(part), source_(source), windows_(windows) {
  const RowLayout& layout = part.layout;
  std::uint64_t step = 1;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    number_step_[at(a)] = step;
    step *= static_cast<std::uint64_t>(std::max(part.axis(a).in, part.axis(a).out)) + 1;
  }
  for (int a : part.order) {
    if (a == layout.row_axis) row_stage_ = stage_.size();
    stage_.push_back({a, &part.axis(a), ring_of(part.axis(a))});
  }
  rows_ascend_ = source.is_in_place() && layout.pooled() == (layout.row_axis >= 0 ? 2 : 1) && row_stage_ != 0 &&
                 stage_[0].axis->dilation == 1 && stage_[0].axis->kernel <= kMaxFold;
  if (rows_ascend_) source.ascend(stage_[0].number);
  make_levels(arena);
}

// How many rows are kept of a level whose rows are of `elems` elements.
index_t RowChain::rows_kept(int level, index_t elems) const {
  if (level == row_stage_) return 1;
  const bool keys_alone = level == 0 && source_.is_in_place();
  const index_t most = (keys_alone ? kKeptKeys : kKeptRowsBytes / (elems * part_.how.value_bytes + 1)) + 1;
  const index_t ring = stage_[at(level)].ring;
  index_t count = ring;
  for (int s = level + 1; s < stage_.size() && count < most; ++s) {
    if (s != row_stage_) count *= std::max<index_t>(1, stage_[at(s)].axis->in);
  }
  return std::max(ring, std::min(count, most) / ring * ring);
}

void RowChain::make_levels(Arena& arena) {
  const Tiling& tiling = part_.tiling;
  for (int level = 0; level < stage_.size(); ++level) {
    index_t elems = row_stage_ >= 0 && row_stage_ < level ? tiling.out_elems : tiling.in_elems;
    if (level == row_stage_) elems += tiling.before_elems + tiling.after_elems;
    kept_[at(level)] = rows_kept(level, elems);
    levels_.push_back(level == 0 ? RowSlots{} : RowSlots(part_.how, kept_[at(level)], elems, arena));
    parts_.push_back(level == row_stage_ ? WindowParts{}
                                         : WindowParts(part_.how, *stage_[at(level)].axis, elems, arena));
  }
  if (!rows_ascend_) source_.make(kept_[0], row_stage_ == 0, arena);
}

// The slot of a row after `level` stages. Rows that one fold reads together never meet in a slot.
index_t RowChain::slot_of(int level, const RowCoords& c) const {
  if (level == row_stage_) return 0;
  const Stage& first = stage_[at(level)];
  index_t index = c[at(first.number)] & (first.ring - 1);
  index_t step = first.ring;
  for (int s = level + 1; s < stage_.size(); ++s) {
    if (s == row_stage_) continue;
    index += step * c[at(stage_[at(s)].number)];
    step *= stage_[at(s)].axis->in;
  }
  const index_t count = kept_[at(level)];
  return index < count ? index : index % count;
}

// A row's number among all rows of a task.
std::uint64_t RowChain::number_of(const RowCoords& c) const {
  std::uint64_t number = 0;
  for (int a = 0; a < part_.layout.pooled(); ++a) {
    number += static_cast<std::uint64_t>(c[at(a)]) * number_step_[at(a)];
  }
  return number;
}

// The row at c after `level` stages. Of a pooled axis that has been folded c holds the output's number, of another one
// the input's.
RowIn RowChain::row(int level, RowCoords& c) {
  if (level == 0 && source_.is_plain()) return source_.plain_row(c);
  const index_t i = slot_of(level, c);
  if (level == 0) return source_.row(c, i, number_of(c));
  RowSlots& slots = levels_[at(level)];
  const RowOut out = slots.at(i, row_stage_ == level ? part_.tiling.before_elems : 0);
  if (!slots.find(i, {part_.task, number_of(c)})) {
    fold_stage(level - 1, c, out);
    if (row_stage_ == level) part_.fill_margins(slots, out);
  }
  return {out.value, out.extra, 0};
}

void RowChain::fold_stage(int stage, RowCoords& c, RowOut out) {
  if (stage != row_stage_) return fold_across(stage, c, out);
  if (part_.tile.axis.out == 0) return;
  const RowIn src = row(stage, c);
  if (!source_.special()) windows_.fold(src, out);  // otherwise all of it is folded again
}

// The row that a tap at `place` of the stage's axis reads; an absent one where nothing stands there.
RowIn RowChain::tap_row(int stage, RowCoords& c, index_t place, index_t step) {
  const index_t input = stage_[at(stage)].axis->input_at(place);
  if (input < 0) return {part_.identity.value, part_.identity.extra, step};
  index_t& coord = c[at(stage_[at(stage)].number)];
  const index_t output = coord;
  coord = input;
  RowIn r = row(stage, c);
  coord = output;
  r.step = step;
  return r;
}

// The fold of `taps` taps, a power of two, beginning at `place`.
RowIn RowChain::part_of_window(int stage, RowCoords& c, index_t taps, index_t place) {
  if (taps == 1) return tap_row(stage, c, place, 0);
  const int a = stage_[at(stage)].number;
  RowCoords here = c;
  here[at(a)] = 0;  // of this axis, only the place matters
  RowOut out;
  if (parts_[at(stage)].find(taps, place, part_.task, number_of(here), out)) return {out.value, out.extra, 0};
  const index_t dilation = stage_[at(stage)].axis->dilation, radix = part_.radix[at(a)];
  RowIn rows[kMaxFold];
  if (taps <= kMaxFold) {
    for (index_t t = 0; t < taps; ++t) rows[t] = tap_row(stage, c, place + t * dilation, t * radix);
    part_.how.fold.fold_rows(rows, static_cast<int>(taps), elems(stage), out);
  } else {
    rows[0] = part_of_window(stage, c, taps / 2, place);
    rows[1] = part_of_window(stage, c, taps / 2, place + taps / 2 * dilation);
    rows[1].step = taps / 2 * radix;
    part_.how.fold.fold_rows(rows, 2, elems(stage), out);
  }
  return {out.value, out.extra, 0};
}

// One row of outputs along an axis that runs across rows.
void RowChain::fold_across(int stage, RowCoords& c, RowOut out) {
  const Axis& axis = *stage_[at(stage)].axis;
  const index_t o = c[at(stage_[at(stage)].number)], radix = part_.radix[at(stage_[at(stage)].number)];
  const index_t width = axis.width(o), start = axis.start(o);
  if (width <= kMaxFold) {
    RowIn rows[kMaxFold];
    for (index_t t = 0; t < width; ++t) {
      const index_t place = start + t * axis.dilation;
      if (stage == 0 && rows_ascend_)
        rows[t].value = source_.ascending_row(axis.input_at(place));
      else
        rows[t] = tap_row(stage, c, place, t * radix);
    }
    return part_.how.fold.fold_rows(rows, static_cast<int>(width), elems(stage), out);
  }
  RowIn rows[64];
  int count = 0;
  for (index_t t = 0; t < width;) {
    const index_t m = detail::floor_power_of_two(width - t);
    rows[count] = part_of_window(stage, c, m, start + t * axis.dilation);
    rows[count++].step = t * radix;
    t += m;
  }
  join_powers(part_.how, rows, count, elems(stage), out);
}

}  // namespace oriel::cpu
