#include "cpu/rows/row_windows.h"

#include <cstring>

#include "cpu/plan/windows.h"

namespace oriel::cpu {
namespace {

constexpr index_t kWideLanes = 16;   // from here a window's taps are rows long enough for vectors
constexpr index_t kLongWindow = 64;  // taps of a window that fill vectors by themselves
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

void RowHalves::make(index_t elems, Arena& arena) {
  halves_ = RowSlots(how_, 2, elems, arena);
  if (how_.fold.fold_windows == nullptr) pairs_ = RowSlots(how_, 2, elems, arena);
}

void RowHalves::make_alone(index_t kernel, Arena& arena) {
  make(kernel, arena);
  rests_ = RowSlots(how_, kMostPowers, 1, arena);
}

RowIn RowHalves::halve(RowIn row, index_t n, int room) {
  const RowOut out = halves_.at(room);
  if (how_.fold.fold_windows != nullptr) {
    how_.fold.fold_windows(row, 2, n, out, false);
    return {out.value, out.extra, 0};
  }
  RowIn pairs[2];
  for (index_t t = 0; t < 2; ++t) {
    const RowOut to = pairs_.at(t);
    const RowIn from = shifted(how_, row, t, 0);
    copy_(from.value, 2, n, how_.value_bytes, to.value);
    if (from.extra != nullptr) copy_(from.extra, 2, n, how_.extra_bytes, to.extra);
    pairs[t] = {to.value, to.extra, t * row.step};
  }
  how_.fold.fold_rows(pairs, 2, n, out);
  return {out.value, out.extra, 0};
}

// Neighbours become one until one is left. Of an odd number the last has no neighbour; it is one of the window's powers
// of two.
void RowHalves::fold_window(RowIn row, index_t width, index_t apart, RowOut out) {
  if (apart > 1) {
    const RowOut dense = halves_.at(0);
    copy_(row.value, apart, width, how_.value_bytes, dense.value);
    if (row.extra != nullptr) copy_(row.extra, apart, width, how_.extra_bytes, dense.extra);
    row = {dense.value, dense.extra, 0};
  }
  RowIn rests[kMostPowers];
  int first = kMostPowers, room = 1;
  for (index_t size = 1, n = width; n > 0; n /= 2, size *= 2) {
    if (n % 2 == 1) {
      const RowIn from = shifted(how_, row, n - 1, 0);
      const RowOut rest = rests_.at(--first);
      std::memcpy(rest.value, from.value, at(how_.value_bytes));
      if (rest.extra != nullptr) std::memcpy(rest.extra, from.extra, at(how_.extra_bytes));
      rests[first] = {rest.value, rest.extra, (n - 1) * size * radix_};
    }
    if (n == 1) break;
    row.step = size * radix_;
    row = halve(row, n / 2, room);
    room = 1 - room;
  }
  join_powers(how_, rests + first, kMostPowers - first, 1, out);
}

RowWindows::RowWindows(const RowPart& part, bool in_place, Arena& arena)
    : part_(part),
      how_(part.how),
      radix_(part.layout.row_axis < 0 ? 0 : part.radix[at(part.layout.row_axis)]),
      has_room_(!part.folds_row_axis_first() || !in_place),
      powers_(how_),
      doubled_(how_, part.repeats),
      halves_(how_, copy_, radix_) {
  if (part.layout.row_axis < 0) return;
  const Axis& axis = part.axis(part.layout.row_axis);
  const Tiling& tiling = part.tiling;
  const index_t lanes = part.layout.lanes.n, kernel = axis.kernel;
  const bool steps = !axis.adaptive && axis.stride > 1;
  if (part.folds_row_axis_first() || axis.spacing != 1) {
    staging_ = RowSlots(how_, 1, tiling.before_elems + tiling.place_elems + tiling.after_elems, arena);
  }
  taps_ = arena.take_array<RowIn>(kernel);
  slides_ = slides(axis);
  alone_ = !slides_ && lanes == 1 && axis.spacing == 1 && kernel >= kLongWindow;
  if (alone_) {
    halves_.make_alone(kernel, arena);
    return;
  }
  in_pairs_ = axis.stride == 2 && axis.dilation == 1 && lanes == 1 && kernel >= 2 && kernel <= kMaxFold &&
              how_.fold.fold_windows != nullptr;
  const index_t places = tiling.out_elems * axis.stride;
  if (!slides_ && (axis.adaptive || axis.stride > 1))
    powers_.make(kernel, axis.adaptive ? lanes : std::max(lanes, tiling.out_elems), arena);
  else
    doubled_.make(kernel, axis.dilation * lanes, places, arena);
  if (steps && slides_) {
    every_ = RowSlots(how_, 1, places, arena);
    if (lanes == 1 && axis.dilation == 1) halves_.make((places + kernel) / 2, arena);
  }
  if (steps && !slides_ && lanes < kWideLanes && !in_pairs_) make_phases(axis, arena);
}

// The phases of taps repeat after class_step() of them.
void RowWindows::make_phases(const Axis& axis, Arena& arena) {
  phase_count_ = std::min(axis.kernel, axis.class_step());
  phase_residue_ = arena.take_array<index_t>(phase_count_);
  for (index_t p = 0; p < phase_count_; ++p) phase_residue_[p] = axis.phase(p);
  const index_t more = (axis.phase_offset(axis.kernel - 1) + 1) * part_.layout.lanes.n;
  phases_ = RowSlots(how_, phase_count_, part_.tiling.out_elems + more, arena);
}

// A row that windows may look beyond; inputs that stand apart are set apart.
RowIn RowWindows::with_margins(RowIn src) {
  const RowTile& tile = part_.tile;
  const index_t spacing = tile.axis.spacing;
  if (spacing == 1 && (has_room_ || (tile.before == 0 && tile.after == 0))) return src;
  const RowOut out = staging_.at(0, part_.tiling.before_elems);
  const index_t bytes = tile.lanes * how_.value_bytes;
  const auto* from = static_cast<const std::byte*>(src.value);
  auto* to = static_cast<std::byte*>(out.value);
  if (spacing == 1) {
    std::memcpy(to, from, at(tile.axis.in * bytes));
    part_.fill_margins(staging_, out);
    return {out.value, nullptr, 0};
  }
  const index_t before = tile.before * bytes, after = tile.after * bytes;
  std::memcpy(to - before, part_.identity.value, at(before));
  std::memcpy(to, part_.identity.value, at(tile.places() * bytes));
  std::memcpy(to + tile.places() * bytes, part_.identity.value, at(after));
  for (index_t i = 0; i < tile.axis.in; ++i) std::memcpy(to + i * spacing * bytes, from + i * bytes, at(bytes));
  return {out.value, nullptr, 0};
}

void RowWindows::fold(RowIn src, RowOut out) {
  const Axis& axis = tile_axis();
  const index_t lanes = part_.tile.lanes;
  const RowIn origin = with_margins(src);
  if (alone_) return fold_alone(origin, out);
  const bool each = axis.stride > 1 && !slides_ && (lanes >= kWideLanes || axis.out == 1);
  if (axis.adaptive || each) return fold_each(origin, out);
  const RowIn first = shifted(how_, origin, axis.start(0) * lanes, radix_);
  if (axis.stride == 1) return doubled_.fold(first, axis.kernel, axis.dilation * lanes, part_.tile.out_elems(), out);
  if (slides_) return fold_every_place(first, out);
  if (!in_pairs_) return fold_phases(first, out);
  const bool slack = has_room_ || origin.value != src.value;
  how_.fold.fold_windows(first, static_cast<int>(axis.kernel), axis.out, out, slack);
}

bool RowWindows::are_short() const {
  const Axis& axis = tile_axis();
  return has_room_ && how_.extra_bytes == 0 && axis.out > 0 && axis.kernel <= kMaxFold && !axis.adaptive &&
         axis.spacing == 1 && (axis.stride == 1 || in_pairs_ || phase_count_ > 0);
}

void RowWindows::set_short(RowIn row) {
  const Axis& axis = tile_axis();
  first_ = shifted(how_, row, axis.start(0) * part_.tile.lanes, 0);
  for (index_t t = 0; t < axis.kernel; ++t) taps_[t] = shifted(how_, first_, t * axis.dilation * part_.tile.lanes, 0);
}

// Windows that step by less than they are long: they are folded at every place, as of k taps only log k are added for
// each. While steps and windows are even, neighbours become one first.
void RowWindows::fold_every_place(RowIn first, RowOut out) {
  const Axis& axis = tile_axis();
  const index_t lanes = part_.tile.lanes;
  index_t kernel = axis.kernel, stride = axis.stride;
  int room = 0;
  while (axis.dilation == 1 && lanes == 1 && kernel % 2 == 0 && stride % 2 == 0) {
    kernel /= 2;
    stride /= 2;
    const index_t radix = 2 * first.step;
    first = halves_.halve(first, (axis.out - 1) * stride + kernel, room);
    first.step = radix;
    room = 1 - room;
  }
  if (stride == 1) return doubled_.fold(first, kernel, 1, axis.out, out);
  const RowOut every = every_.at(0);
  doubled_.fold(first, kernel, axis.dilation * lanes, ((axis.out - 1) * stride + 1) * lanes, every);
  copy_groups({every.value, every.extra, 0}, stride, axis.out, out);
}

// Every stride-th position of a row.
void RowWindows::copy_groups(const RowIn& from, index_t stride, index_t groups, RowOut to) const {
  copy_(from.value, stride, groups, part_.tile.lanes * how_.value_bytes, to.value);
  if (from.extra != nullptr) copy_(from.extra, stride, groups, part_.tile.lanes * how_.extra_bytes, to.extra);
}

// Windows that step by s: the row is split by place modulo s; then tap t of all outputs is one of the parts, moved.
void RowWindows::fold_phases(RowIn first, RowOut out) {
  const Axis& axis = tile_axis();
  const index_t lanes = part_.tile.lanes;
  for (index_t p = 0; p < phase_count_; ++p) {
    const index_t residue = phase_residue_[p];
    copy_groups(shifted(how_, first, residue * lanes, 0), axis.stride, axis.phase_length(residue), phases_.at(p));
  }
  for (index_t t = 0; t < axis.kernel; ++t) {
    const RowOut phase = phases_.at(t % phase_count_);
    taps_[t] = shifted(how_, {phase.value, phase.extra, 0}, axis.phase_offset(t) * lanes, t * radix_);
  }
  powers_.fold(taps_, axis.kernel, part_.tile.out_elems(), out);
}

// Output by output: windows of changing size, or with many lanes.
void RowWindows::fold_each(RowIn origin, RowOut out) {
  const Axis& axis = tile_axis();
  const index_t lanes = part_.tile.lanes;
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t width = axis.width(o);
    for (index_t t = 0; t < width; ++t) taps_[t] = shifted(how_, origin, axis.at(o, t) * lanes, t * radix_);
    powers_.fold(taps_, width, lanes, moved(how_, out, o * lanes));
  }
}

// Long windows of single lanes, one by one.
void RowWindows::fold_alone(RowIn origin, RowOut out) {
  const Axis& axis = tile_axis();
  for (index_t o = 0; o < axis.out; ++o) {
    halves_.fold_window(shifted(how_, origin, axis.start(o), 0), axis.width(o), axis.dilation, moved(how_, out, o));
  }
}

}  // namespace oriel::cpu
