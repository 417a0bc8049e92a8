#include "cpu/long/axis_folder.h"

#include <algorithm>
#include <cstring>

#include "cpu/simd/strided_copy.h"

namespace oriel::cpu {
namespace {

constexpr index_t kFewestBeside = 4;  // elements beside each other that are worth rows of their own

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Places from the first tap of the first output to the last tap of the last one.
index_t places_of(const Axis& axis) { return axis.at(axis.out - 1, axis.kernel - 1) + 1 - axis.start(0); }

// Windows at all places from the first output's to the last one's.
index_t outputs_of(const Axis& axis) { return axis.start(axis.out - 1) - axis.start(0) + 1; }

// Whether every output is the input of its number.
bool is_view(const Axis& axis) {
  return !axis.adaptive && axis.kernel == 1 && axis.stride == 1 && axis.spacing == 1 && axis.start(0) == 0 &&
         axis.out == axis.in;
}

}  // namespace

void AxisFolder::copy(const RowOut& from, index_t elems, const RowOut& to) const {
  std::memcpy(to.value, from.value, at(elems * how_.value_bytes));
  if (to.extra != nullptr) std::memcpy(to.extra, from.extra, at(elems * how_.extra_bytes));
}

RowOut AxisFolder::fold(const AxisView& view, const RowOut& from) {
  view_ = view;
  const Axis& axis = view_.axis;
  const index_t inner = view.inner;
  if (is_view(axis)) return from;
  const RowOut to = take_row(how_, view.outer * axis.out * inner, arena_);
  if (axis.out == 0) return to;
  at_places_ = !axis.adaptive && (axis.stride == 1 || view.slides);
  make_rooms();
  if (at_places_ && axis.stride == 1 && apart_.value == nullptr && ends_ == nullptr && axis.kernel <= kMaxFold) {
    fold_all_rows(from, to);
    return to;
  }
  for (index_t b = 0; b < view.outer; ++b) {
    const RowOut source = moved(how_, from, b * axis.in * inner), target = moved(how_, to, b * axis.out * inner);
    at_places_ ? fold_places(source, target) : fold_outputs(source, target);
  }
  return to;
}

// Whether windows look at places where no input stands.
bool AxisFolder::reads_beyond() const {
  const Axis& axis = view_.axis;
  return axis.spacing > 1 || axis.start(0) < 0 || axis.start(0) + places_of(axis) > axis.in;
}

void AxisFolder::make_rooms() {
  const Axis& axis = view_.axis;
  const index_t inner = view_.inner, elems = at_places_ ? places_of(axis) * inner : inner;
  apart_ = at_places_ && reads_beyond() ? take_row(how_, elems, arena_) : RowOut{};
  if (at_places_ && axis.stride > 1) every_ = take_row(how_, elems, arena_);
  if (!at_places_) {
    taps_ = arena_.take_array<RowIn>(axis.kernel);
    absent_ = take_row(how_, inner, arena_);
    fill_identity(how_, absent_, inner);
  }
  const bool by_rows = first_rows_ != nullptr && axis.kernel > kMaxFold && inner >= kFewestBeside;
  ends_ = by_rows ? arena_.take(axis.kernel * kFirstStripBytes) : nullptr;
  if (by_rows) return;
  if (at_places_)
    doubled_.make(axis.kernel, axis.dilation * inner, outputs_of(axis) * inner, arena_);
  else
    pairwise_.make(axis.kernel, inner, arena_);
}

// Short windows that step by one: as if all rows were one, without the results that lie between two.
void AxisFolder::fold_all_rows(const RowOut& from, const RowOut& to) {
  const Axis& axis = view_.axis;
  const index_t row = axis.in * view_.inner, results = axis.out * view_.inner;
  const RowOut all = view_.outer == 1 ? to : take_row(how_, view_.outer * row, arena_);
  doubled_.fold(read(from, axis.start(0) * view_.inner, view_.radix), axis.kernel, axis.dilation * view_.inner,
                (view_.outer - 1) * row + results, all);
  for (index_t b = 0; view_.outer > 1 && b < view_.outer; ++b) {
    copy(moved(how_, all, b * row), results, moved(how_, to, b * results));
  }
}

// Windows at every place, of which those that step take some.
void AxisFolder::fold_places(const RowOut& from, const RowOut& to) {
  const Axis& axis = view_.axis;
  const index_t inner = view_.inner;
  const bool steps = axis.stride > 1;
  const RowOut first = places_from(from), every = steps ? every_ : to;
  if (ends_ != nullptr)
    fold_first_places(first, every);
  else
    doubled_.fold(read(first, 0, view_.radix), axis.kernel, axis.dilation * inner, outputs_of(axis) * inner, every);
  if (!steps) return;
  const StridedCopy pick = strided_copy();
  pick(every_.value, axis.stride, axis.out, inner * how_.value_bytes, to.value);
  if (to.extra != nullptr) pick(every_.extra, axis.stride, axis.out, inner * how_.extra_bytes, to.extra);
}

// All places that windows look at, from the first tap of the first one on.
RowOut AxisFolder::places_from(const RowOut& from) const {
  const Axis& axis = view_.axis;
  const index_t inner = view_.inner, start = axis.start(0), end = start + places_of(axis);
  if (apart_.value == nullptr) return moved(how_, from, start * inner);
  fill_identity(how_, apart_, (end - start) * inner);
  if (axis.spacing == 1) {
    const Range there = intersect({start, end}, {0, axis.in});
    copy(moved(how_, from, there.begin * inner), there.size() * inner,
         moved(how_, apart_, (there.begin - start) * inner));
    return apart_;
  }
  for (index_t i = 0; i < axis.in; ++i) {
    const index_t place = i * axis.spacing;
    if (place < start || place >= end) continue;
    copy(moved(how_, from, i * inner), inner, moved(how_, apart_, (place - start) * inner));
  }
  return apart_;
}

// Extrema in the exact way at every place: of those that are a dilation apart.
void AxisFolder::fold_first_places(const RowOut& first, const RowOut& to) const {
  const Axis& axis = view_.axis;
  const index_t places = outputs_of(axis);
  for (index_t r = 0; r < std::min(axis.dilation, places); ++r) {
    first_rows_({.x = moved(how_, first, r * view_.inner).value,
                 .pitch = axis.dilation * view_.inner,
                 .n = view_.inner,
                 .kernel = axis.kernel,
                 .windows = ceil_div(places - r, axis.dilation),
                 .out = moved(how_, to, r * view_.inner).value,
                 .scratch = ends_});
  }
}

// The same output by output, of the taps that exist.
void AxisFolder::fold_first_outputs(const RowOut& from, const RowOut& to) const {
  const Axis& axis = view_.axis;
  for (index_t o = 0; o < axis.out; ++o) {
    const Range taps = axis.taps(o);
    const RowOut out = moved(how_, to, o * view_.inner);
    if (taps.empty()) {
      fill_identity(how_, out, view_.inner);
      continue;
    }
    first_rows_({.x = moved(how_, from, axis.at(o, taps.begin) * view_.inner).value,
                 .pitch = axis.dilation * view_.inner,
                 .n = view_.inner,
                 .kernel = taps.size(),
                 .windows = 1,
                 .out = out.value,
                 .scratch = ends_});
  }
}

// Output by output.
void AxisFolder::fold_outputs(const RowOut& from, const RowOut& to) {
  if (ends_ != nullptr) return fold_first_outputs(from, to);
  const Axis& axis = view_.axis;
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t width = axis.width(o);
    for (index_t t = 0; t < width; ++t) {
      const index_t input = axis.input_at(axis.at(o, t));
      taps_[t] = input < 0 ? read(absent_, 0, t * view_.radix) : read(from, input * view_.inner, t * view_.radix);
    }
    pairwise_.fold(taps_, width, view_.inner, moved(how_, to, o * view_.inner));
  }
}

}  // namespace oriel::cpu
