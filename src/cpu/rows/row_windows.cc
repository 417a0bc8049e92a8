// The part of RowFolder that folds along rows. Nearly all of it is fold_rows on one row, seen at several offsets.
#include <cstring>

#include "cpu/long/axes.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/kernels.h"
#include "cpu/rows/row_folder.h"

namespace oriel::cpu {
namespace {

constexpr index_t kWideLanes = 16;   // from here a window's taps are rows long enough for vectors
constexpr index_t kLongWindow = 64;  // taps of a window that fill vectors by themselves
constexpr int kMostPowers = 64;      // of two, in a window

}  // namespace

void RowFolder::make_window_scratch() {
  const Axis& axis = layout_.axis[at(layout_.row_axis)].axis;
  const index_t lanes = layout_.lanes.n;
  taps_ = arena_.take_array<RowIn>(axis.kernel);
  slides_ = slides(axis);
  alone_ = !slides_ && lanes == 1 && axis.spacing == 1 && axis.kernel >= kLongWindow;
  if (alone_) {
    halves_ = make_slots(2, axis.kernel);
    if (how_.fold.fold_windows == nullptr) pairs_ = make_slots(2, axis.kernel / 2);
    rests_ = make_slots(kMostPowers, 1);
    return;
  }
  if (axis.kernel > kMaxFold) make_window_powers();
  const bool steps = !axis.adaptive && axis.stride > 1;
  if (slides_ && steps) {
    const index_t places = tiling_.out_elems * axis.stride;
    every_ = make_slots(1, places);
    if (lanes == 1 && axis.dilation == 1) {
      halves_ = make_slots(2, (places + axis.kernel) / 2);
      if (how_.fold.fold_windows == nullptr) pairs_ = make_slots(2, (places + axis.kernel) / 2);
    }
  }
  if (steps && !slides_ && lanes < kWideLanes && !steps_in_pairs(axis)) make_phases();
}

void RowFolder::make_window_powers() {
  const Axis& axis = layout_.axis[at(layout_.row_axis)].axis;
  const index_t lanes = layout_.lanes.n, kernel = axis.kernel;
  if (!slides_ && (axis.adaptive || axis.stride > 1)) {
    powers_ = make_sizes(kernel);
    for (index_t m = 2; m <= kernel; m *= 2) {
      powers_[log2_of(m)] = make_slots(kTurns, std::max(lanes, axis.adaptive ? lanes : tiling_.out_elems));
    }
    return;
  }
  doubled_ = make_sizes(kernel);
  const index_t places = tiling_.out_elems * axis.stride;
  for (index_t m = 2; m <= kernel; m *= 2) {
    const index_t more = m < kMaxFold ? 0 : (kernel - m) * axis.dilation * lanes;
    doubled_[log2_of(m)] = make_slots(1, places + more);
  }
}

// The phases of taps repeat after class_step() of them.
void RowFolder::make_phases() {
  const Axis& axis = layout_.axis[at(layout_.row_axis)].axis;
  phase_count_ = std::min(axis.kernel, axis.class_step());
  phase_residue_ = arena_.take_array<index_t>(phase_count_);
  for (index_t p = 0; p < phase_count_; ++p) phase_residue_[p] = axis.phase(p);
  const index_t lanes = layout_.lanes.n;
  phases_ = make_slots(phase_count_, tiling_.out_elems + (axis.phase_offset(axis.kernel - 1) + 1) * lanes);
}

// Identities around a row; they stay until the tile changes its length.
void RowFolder::fill_margins(Slots& slots, RowOut row) const {
  if (slots.margins_of == tile_number_ || tile_.axis.spacing != 1) return;
  slots.margins_of = tile_number_;
  const index_t before = tile_.before * tile_.lanes, after = tile_.after * tile_.lanes;
  const auto fill = [&](void* to, const void* identity, index_t bytes) {
    if (to == nullptr) return;
    auto* begin = static_cast<std::byte*>(to);
    std::memcpy(begin - before * bytes, identity, at(before * bytes));
    std::memcpy(begin + tile_.in_elems() * bytes, identity, at(after * bytes));
  };
  fill(row.value, identity_.value, how_.value_bytes);
  fill(row.extra, identity_.extra, how_.extra_bytes);
}

// A row that windows may look beyond; inputs that stand apart are set apart.
RowIn RowFolder::with_margins(RowIn src) {
  const index_t spacing = tile_.axis.spacing;
  const bool in_slot = row_stage_ != 0 || !in_place_;
  if (spacing == 1 && (in_slot || (tile_.before == 0 && tile_.after == 0))) return src;
  const RowOut out = slot(staging_, 0, tiling_.before_elems);
  const index_t bytes = tile_.lanes * how_.value_bytes;
  const auto* from = static_cast<const std::byte*>(src.value);
  auto* to = static_cast<std::byte*>(out.value);
  if (spacing == 1) {
    std::memcpy(to, from, at(tile_.axis.in * bytes));
    fill_margins(staging_, out);
    return {out.value, nullptr, 0};
  }
  const index_t before = tile_.before * bytes, after = tile_.after * bytes;
  std::memcpy(to - before, identity_.value, at(before));
  std::memcpy(to, identity_.value, at(tile_.places() * bytes));
  std::memcpy(to + tile_.places() * bytes, identity_.value, at(after));
  for (index_t i = 0; i < tile_.axis.in; ++i) std::memcpy(to + i * spacing * bytes, from + i * bytes, at(bytes));
  return {out.value, nullptr, 0};
}

// Windows that fold_windows takes: two apart, of neighbours.
bool RowFolder::steps_in_pairs(const Axis& axis) const {
  return axis.stride == 2 && axis.dilation == 1 && layout_.lanes.n == 1 && axis.kernel >= 2 &&
         axis.kernel <= kMaxFold && how_.fold.fold_windows != nullptr;
}

// One row of outputs along the row axis.
void RowFolder::fold_along(int stage, Coords& c, RowOut out) {
  const Axis& axis = tile_.axis;
  if (axis.out == 0) return;
  const RowIn src = row(stage, c);
  if (special_) return;  // all of it is folded again
  const RowIn origin = with_margins(src);
  if (alone_) return fold_each_alone(origin, out);
  const bool each = axis.stride > 1 && !slides_ && (tile_.lanes >= kWideLanes || axis.out == 1);
  if (axis.adaptive || each) return fold_each(origin, out);
  RowIn first = shifted(origin, axis.start(0) * tile_.lanes, 0);
  first.step = radix_[at(layout_.row_axis)];
  if (axis.stride == 1) return fold_step_one(first, axis.kernel, axis.dilation * tile_.lanes, tile_.out_elems(), out);
  if (slides_) return fold_every_place(first, out);
  if (!steps_in_pairs(axis)) return fold_phases({first.value, first.extra, 0}, out);
  const bool slack = row_stage_ != 0 || !in_place_ || origin.value != src.value;
  how_.fold.fold_windows(first, static_cast<int>(axis.kernel), axis.out, out, slack);
}

// Windows that step by one, at n elements: tap t of all of them is the row moved by t. Long windows double.
void RowFolder::fold_step_one(RowIn first, index_t kernel, index_t move, index_t n, RowOut out) {
  const index_t radix = first.step;
  first.step = 0;
  RowIn rows[64];
  const auto taps = [&](RowIn from, index_t count, index_t length, RowOut to) {
    for (index_t t = 0; t < count; ++t) rows[t] = shifted(from, t * move, t * radix);
    how_.fold.fold_rows(rows, static_cast<int>(count), length, to);
  };
  if (kernel <= kMaxFold) return taps(first, kernel, n, out);
  RowIn doubled[64];
  index_t most = kMaxFold;
  for (index_t m = kMaxFold; m <= kernel; m *= 2) {
    const RowOut to = slot(doubled_[log2_of(m)], 0, 0);
    const index_t length = n + (kernel - m) * move;
    if (m == kMaxFold) {
      taps(first, m, length, to);
    } else {
      const RowIn half = doubled[log2_of(m) - 1];
      rows[0] = half;
      rows[1] = shifted(half, m / 2 * move, m / 2 * radix);
      how_.fold.fold_rows(rows, 2, length, to);
    }
    doubled[log2_of(m)] = {to.value, to.extra, 0};
    most = m;
  }
  RowIn parts[64];
  int count = 0;
  if (repeats_) {  // then a tap may count twice
    parts[count++] = doubled[log2_of(most)];
    if (most < kernel)
      parts[count++] = shifted(doubled[log2_of(most)], (kernel - most) * move, (kernel - most) * radix);
    return join(parts, count, n, out);
  }
  for (index_t t = 0; t < kernel;) {
    const index_t m = detail::floor_power_of_two(kernel - t);
    if (m >= kMaxFold) {
      parts[count++] = shifted(doubled[log2_of(m)], t * move, t * radix);
    } else if (m == 1) {
      parts[count++] = shifted(first, t * move, t * radix);
    } else {
      const RowOut to = slot(doubled_[log2_of(m)], 0, 0);
      taps(shifted(first, t * move, 0), m, n, to);
      parts[count++] = {to.value, to.extra, t * radix};
    }
    t += m;
  }
  join(parts, count, n, out);
}

// Windows that step by less than they are long: they are folded at every place, as of k taps only log k are added for
// each. While steps and windows are even, neighbours become one first.
void RowFolder::fold_every_place(RowIn first, RowOut out) {
  const Axis& axis = tile_.axis;
  const index_t lanes = tile_.lanes;
  index_t kernel = axis.kernel, stride = axis.stride, turn = 0;
  while (axis.dilation == 1 && lanes == 1 && kernel % 2 == 0 && stride % 2 == 0) {
    const RowOut half = slot(halves_, turn, 0);
    kernel /= 2;
    stride /= 2;
    halve(first, (axis.out - 1) * stride + kernel, half);
    first = {half.value, half.extra, 2 * first.step};
    turn = 1 - turn;
  }
  if (stride == 1) return fold_step_one(first, kernel, 1, axis.out, out);
  const RowOut every = slot(every_, 0, 0);
  fold_step_one(first, kernel, axis.dilation * lanes, ((axis.out - 1) * stride + 1) * lanes, every);
  copy_(every.value, stride, axis.out, lanes * how_.value_bytes, out.value);
  if (out.extra == nullptr) return;
  copy_(every.extra, stride, axis.out, lanes * how_.extra_bytes, out.extra);
}

// Windows that step by s: the row is split by place modulo s; then tap t of all outputs is one of the parts, moved.
void RowFolder::fold_phases(RowIn first, RowOut out) {
  const Axis& axis = tile_.axis;
  const index_t lanes = tile_.lanes, radix = radix_[at(layout_.row_axis)];
  for (index_t p = 0; p < phase_count_; ++p) {
    const index_t residue = phase_residue_[p];
    const index_t groups = axis.phase_length(residue);
    const RowIn from = shifted(first, residue * lanes, 0);
    const RowOut to = slot(phases_, p, 0);
    copy_(from.value, axis.stride, groups, lanes * how_.value_bytes, to.value);
    if (from.extra != nullptr) {
      copy_(from.extra, axis.stride, groups, lanes * how_.extra_bytes, to.extra);
    }
  }
  for (index_t t = 0; t < axis.kernel; ++t) {
    const RowOut phase = slot(phases_, t % phase_count_, 0);
    taps_[t] = shifted({phase.value, phase.extra, 0}, axis.phase_offset(t) * lanes, t * radix);
  }
  fold_taps(taps_, axis.kernel, tile_.out_elems(), out);
}

// Output by output: windows of changing size, or with many lanes.
void RowFolder::fold_each(RowIn origin, RowOut out) {
  const Axis& axis = tile_.axis;
  const index_t lanes = tile_.lanes, radix = radix_[at(layout_.row_axis)];
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t width = axis.width(o);
    for (index_t t = 0; t < width; ++t) {
      taps_[t] = shifted(origin, axis.at(o, t) * lanes, t * radix);
    }
    RowOut to = {static_cast<std::byte*>(out.value) + o * lanes * how_.value_bytes, nullptr};
    if (out.extra != nullptr) to.extra = static_cast<std::byte*>(out.extra) + o * lanes * how_.extra_bytes;
    fold_taps(taps_, width, lanes, to);
  }
}

// Long windows of single lanes, one by one.
void RowFolder::fold_each_alone(RowIn origin, RowOut out) {
  const Axis& axis = tile_.axis;
  for (index_t o = 0; o < axis.out; ++o) {
    RowIn row = shifted(origin, axis.start(o), 0);
    const index_t width = axis.width(o);
    if (axis.dilation > 1) {
      const RowOut dense = slot(halves_, 0, 0);
      copy_(row.value, axis.dilation, width, how_.value_bytes, dense.value);
      if (row.extra != nullptr) {
        copy_(row.extra, axis.dilation, width, how_.extra_bytes, dense.extra);
      }
      row = {dense.value, dense.extra, 0};
    }
    RowOut to = {static_cast<std::byte*>(out.value) + o * how_.value_bytes, nullptr};
    if (out.extra != nullptr) to.extra = static_cast<std::byte*>(out.extra) + o * how_.extra_bytes;
    fold_halves(row, width, to);
  }
}

// A window by the tree of S8: neighbours become one until one is left. Of an odd number the last has no neighbour; it
// is one of the window's powers of two.
void RowFolder::fold_halves(RowIn row, index_t width, RowOut out) {
  const index_t radix = radix_[at(layout_.row_axis)];
  RowIn rests[kMostPowers];
  int first = kMostPowers, turn = 1;
  for (index_t size = 1, n = width; n > 0; n /= 2, size *= 2) {
    if (n % 2 == 1) {
      const RowIn from = shifted(row, n - 1, 0);
      const RowOut rest = slot(rests_, --first, 0);
      std::memcpy(rest.value, from.value, at(how_.value_bytes));
      if (rest.extra != nullptr) std::memcpy(rest.extra, from.extra, at(how_.extra_bytes));
      rests[first] = {rest.value, rest.extra, (n - 1) * size * radix};
    }
    if (n == 1) break;
    const RowOut half = slot(halves_, turn, 0);
    row.step = size * radix;
    halve(row, n / 2, half);
    row = {half.value, half.extra, 0};
    turn = 1 - turn;
  }
  join(rests + first, kMostPowers - first, 1, out);
}

// out[i] = row[2 i] combined with row[2 i + 1], whose codes are row.step more.
void RowFolder::halve(RowIn row, index_t n, RowOut out) {
  if (how_.fold.fold_windows != nullptr) return how_.fold.fold_windows(row, 2, n, out, false);
  RowIn pairs[2];
  for (index_t t = 0; t < 2; ++t) {
    const RowOut to = slot(pairs_, t, 0);
    const RowIn from = shifted(row, t, 0);
    copy_(from.value, 2, n, how_.value_bytes, to.value);
    if (from.extra != nullptr) copy_(from.extra, 2, n, how_.extra_bytes, to.extra);
    pairs[t] = {to.value, to.extra, t * row.step};
  }
  how_.fold.fold_rows(pairs, 2, n, out);
}

// The fold of any number of rows that are all at hand.
void RowFolder::fold_taps(const RowIn* taps, index_t count, index_t n, RowOut out) {
  if (count <= kMaxFold) return how_.fold.fold_rows(taps, static_cast<int>(count), n, out);
  RowIn parts[64];
  int used = 0;
  for (index_t t = 0; t < count;) {
    const index_t m = detail::floor_power_of_two(count - t);
    parts[used++] = power(taps + t, m, n);
    t += m;
  }
  join(parts, used, n, out);
}

RowIn RowFolder::power(const RowIn* taps, index_t count, index_t n) {
  if (count == 1) return taps[0];
  Slots& slots = powers_[log2_of(count)];
  const RowOut out = slot(slots, slots.turn++ % slots.count, 0);
  if (count <= kMaxFold) {
    how_.fold.fold_rows(taps, static_cast<int>(count), n, out);
  } else {
    const RowIn halves[2] = {power(taps, count / 2, n), power(taps + count / 2, count / 2, n)};
    how_.fold.fold_rows(halves, 2, n, out);
  }
  return {out.value, out.extra, 0};
}

}  // namespace oriel::cpu
