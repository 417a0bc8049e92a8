#include "cpu/long/axes_folder.h"

#include <algorithm>
#include <cstring>

#include "cpu/long/axes.h"
#include "cpu/plan/index_rows.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/kernels.h"
#include "cpu/recipe/recipe.h"
#include "cpu/simd/strided_copy.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBoxBytes = index_t{1} << 20;  // of accumulators, about
constexpr index_t kFewestElems = 16;             // beside each other
constexpr index_t kFewestBeside = 4;             // that are worth rows of their own

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

OutputBox axes_box_size(const FoldJob& job, const RowReduction& how, const OutputBox& whole) {
  const RowLayout& layout = job.layout;
  OutputBox box;
  box.lanes = {0, whole.lanes.size()};
  const auto outputs = [&box](int a) -> index_t& { return box.outputs[static_cast<std::size_t>(a)].end; };
  const auto axis = [&layout](int a) -> const Axis& { return layout.axis[static_cast<std::size_t>(a)].axis; };
  for (int a = 0; a < layout.pooled(); ++a) outputs(a) = whole.outputs[static_cast<std::size_t>(a)].size();
  const auto places = [&](int a) { return axis(a).in == 0 ? 0 : axis(a).needs({0, outputs(a)}).size(); };
  for (;;) {
    index_t bytes = (how.value_bytes + how.extra_bytes) * box.lanes.end;
    for (int a = 0; a < layout.pooled(); ++a) bytes *= std::max(places(a), outputs(a));
    if (bytes <= kBoxBytes) return box;
    if (box.lanes.end >= 2 * kFewestElems) {
      box.lanes.end = (box.lanes.end + 1) / 2;
      continue;
    }
    int best = -1;
    for (int a = 0; a < layout.pooled(); ++a) {
      const index_t least = axis(a).adaptive ? 1 : std::max<index_t>(1, 2 * axis(a).extent() / axis(a).stride);
      const index_t beside = box.lanes.end * outputs(a);
      if (outputs(a) < 2 * least || (a == layout.row_axis && beside < 2 * kFewestElems)) continue;
      if (best < 0 || outputs(a) > outputs(best)) best = a;
    }
    if (best < 0) return box;
    outputs(best) = (outputs(best) + 1) / 2;
  }
}

AxesFolder::AxesFolder(const FoldJob& job, const RowReduction& how, bool scan_order, Arena& arena)
    : job_(job),
      layout_(job.layout),
      how_(how),
      scan_order_(scan_order),
      arena_(arena),
      doubled_(how, job.problem != nullptr && (how.any_order || scan_order)),
      pairwise_(how) {
  index_t radix = 1;
  for (int a = layout_.pooled() - 1; a >= 0; --a) {
    radix_[at(a)] = radix;
    radix *= layout_.axis[at(a)].axis.kernel;
  }
  for (int a = 0; a < layout_.pooled(); ++a) {
    if (a != layout_.row_axis) order_.push_back(a);
  }
  if (layout_.row_axis >= 0) order_.push_back(layout_.row_axis);
}

AxesFolder::AxesFolder(const FoldJob& job, const RowReduction& exact, Nan nan, Arena& arena)
    : AxesFolder(job, exact, in_scan_order(exact), arena) {
  if (!is_floating_extremum(*job.problem)) return;
  first_rows_ = exact_table().first_rows(job.problem->pool.op, exact.value_bytes == 8 ? Lane::f64 : Lane::f32, nan);
}

RowIn AxesFolder::read(const RowOut& row, index_t elems, index_t step) const {
  return shifted(how_, {row.value, row.extra, 0}, elems, step);
}

void AxesFolder::copy(const RowOut& from, index_t elems, const RowOut& to) const {
  std::memcpy(to.value, from.value, at(elems * how_.value_bytes));
  if (to.extra != nullptr) std::memcpy(to.extra, from.extra, at(elems * how_.extra_bytes));
}

bool AxesFolder::fold(index_t plane, const OutputBox& box) {
  arena_.reset();
  set_box(plane, box);
  RowOut row = as_it_lies();
  if (row.value == nullptr) {
    index_t elems = lanes_;
    for (int a : order_) elems *= extent_[at(a)];
    row = take_row(how_, elems, arena_);
    if (!lift(row)) return false;
  }
  for (int i = 0; i < layout_.pooled(); ++i) {
    const int a = scan_order_ ? layout_.pooled() - 1 - i : i;
    const auto position = std::find(order_.begin(), order_.end(), a) - order_.begin();
    row = fold_axis(static_cast<int>(position), row);
  }
  count_taps();
  lower(row);
  return true;
}

void AxesFolder::set_box(index_t plane, const OutputBox& box) {
  box_ = box;
  lanes_ = box.lanes.size();
  plane_ = layout_.plane_offsets(plane);
  for (std::size_t p = 0; p < plane_.size(); ++p) plane_[p] += box.lanes.begin * layout_.lanes.pitch[p];
  for (int a = 0; a < layout_.pooled(); ++a) {
    const Axis& whole = layout_.axis[at(a)].axis;
    axis_[at(a)] = whole.slice(box.outputs[at(a)]);
    in_begin_[at(a)] = axis_[at(a)].in_offset - whole.in_offset;
    extent_[at(a)] = axis_[at(a)].in;
  }
}

// Calls body(coordinates, number) for the rows of a box.
template <class Body>
void AxesFolder::each_row(const Body& body) const {
  RowCoords c{};
  for (int a : order_) {
    if (extent_[at(a)] == 0) return;
  }
  const int last = order_.size() - (layout_.row_axis >= 0 ? 2 : 1);
  index_t number = 0;
  for (int i = 0; i >= 0; ++number) {
    body(c, number);
    for (i = last; i >= 0; --i) {
      const auto a = at(order_[at(i)]);
      if (++c[a] < extent_[a]) break;
      c[a] = 0;
    }
  }
}

// All inputs where they lie, if these are accumulators in the order of a box and nothing is looked for in them.
RowOut AxesFolder::as_it_lies() const {
  if (how_.lift != nullptr || how_.scan != nullptr || how_.extra_bytes != 0) return {};
  if (lanes_ > 1 && layout_.lanes.pitch[kX] != 1) return {};
  index_t offset = plane_[kX], elems = lanes_;
  for (int i = order_.size() - 1; i >= 0; --i) {
    const auto a = at(order_[at(i)]);
    if (extent_[a] > 1 && layout_.axis[a].pitch[kX] != elems) return {};
    elems *= extent_[a];
    offset += in_begin_[a] * layout_.axis[a].pitch[kX];
  }
  if (elems == 0) return {};
  // Only read from.
  return {const_cast<std::byte*>(static_cast<const std::byte*>(job_.x)) + offset * how_.in_bytes, nullptr};
}

// All inputs as accumulators. False where one needs the careful reduction.
bool AxesFolder::lift(const RowOut& to) const {
  const Pitches none{};
  const Pitches& along = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch : none;
  const index_t n = layout_.row_axis >= 0 ? extent_[at(layout_.row_axis)] : 1;
  const index_t pitch = layout_.row_axis >= 0 ? along[kX] : lanes_;
  const LiftRow lift_row = how_.lift != nullptr ? how_.lift : how_.gather;
  std::byte* raw = how_.scan != nullptr ? arena_.take(n * lanes_ * how_.in_bytes + 64) : nullptr;
  bool special = false;
  each_row([&](const RowCoords& c, index_t number) {
    if (special) return;
    index_t offset = plane_[kX];
    for (int a = 0; a < layout_.pooled(); ++a) {
      offset += (in_begin_[at(a)] + (a == layout_.row_axis ? 0 : c[at(a)])) * layout_.axis[at(a)].pitch[kX];
    }
    const std::byte* x = static_cast<const std::byte*>(job_.x) + offset * how_.in_bytes;
    special = raw != nullptr && is_special(x, raw);
    lift_row(x, pitch, layout_.lanes.pitch[kX], n, lanes_, moved(how_, to, number * n * lanes_), how_.lift_params);
  });
  return !special;
}

bool AxesFolder::is_special(const std::byte* x, std::byte* raw) const {
  const bool row = layout_.row_axis >= 0;
  const index_t n = row ? extent_[at(layout_.row_axis)] : 1, lane_pitch = layout_.lanes.pitch[kX];
  const index_t pitch = row ? layout_.axis[at(layout_.row_axis)].pitch[kX] : lanes_;
  if ((lanes_ == 1 || lane_pitch == 1) && (n == 1 || pitch == lanes_)) return how_.scan(x, n * lanes_, how_.scan_zeros);
  std::byte* to = raw;
  for (index_t p = 0; p < n; ++p) {
    for (index_t l = 0; l < lanes_; ++l, to += how_.in_bytes) {
      std::memcpy(to, x + (p * pitch + l * lane_pitch) * how_.in_bytes, at(how_.in_bytes));
    }
  }
  return how_.scan(raw, n * lanes_, how_.scan_zeros);
}

// The box with one axis folded.
RowOut AxesFolder::fold_axis(int position, const RowOut& from) {
  const auto a = at(order_[at(position)]);
  const Axis& axis = axis_[a];
  if (is_view(axis)) return from;
  index_t outer = 1, inner = lanes_;
  for (int i = 0; i < order_.size(); ++i) {
    if (i != position) (i < position ? outer : inner) *= extent_[at(order_[at(i)])];
  }
  extent_[a] = axis.out;
  const RowOut to = take_row(how_, outer * axis.out * inner, arena_);
  if (axis.out == 0) return to;
  const bool places = !axis.adaptive && (axis.stride == 1 || slides(layout_.axis[a].axis));
  const index_t elems = places ? places_of(axis) * inner : inner;
  if (places && (axis.spacing > 1 || axis.start(0) < 0 || axis.start(0) + places_of(axis) > axis.in)) {
    apart_ = take_row(how_, elems, arena_);
  } else {
    apart_ = {};
  }
  if (places && axis.stride > 1) every_ = take_row(how_, elems, arena_);
  if (!places) {
    taps_ = arena_.take_array<RowIn>(axis.kernel);
    absent_ = take_row(how_, inner, arena_);
    fill_identity(how_, absent_, inner);
  }
  const bool by_rows = first_rows_ != nullptr && axis.kernel > kMaxFold && inner >= kFewestBeside;
  ends_ = by_rows ? arena_.take(axis.kernel * kFirstStripBytes) : nullptr;
  if (places && !by_rows) doubled_.make(axis.kernel, axis.dilation * inner, outputs_of(axis) * inner, arena_);
  if (!places && !by_rows) pairwise_.make(axis.kernel, inner, arena_);
  if (places && axis.stride == 1 && apart_.value == nullptr && ends_ == nullptr && axis.kernel <= kMaxFold) {
    fold_all_rows(axis, from, outer, inner, radix_[a], to);
    return to;
  }
  for (index_t b = 0; b < outer; ++b) {
    const RowOut source = moved(how_, from, b * axis.in * inner), target = moved(how_, to, b * axis.out * inner);
    if (places)
      fold_places(axis, source, inner, radix_[a], target);
    else
      fold_outputs(axis, source, inner, radix_[a], target);
  }
  return to;
}

// Short windows that step by one: as if all rows were one, without the results that lie between two.
void AxesFolder::fold_all_rows(const Axis& axis, const RowOut& from, index_t outer, index_t inner, index_t radix,
                               const RowOut& to) {
  const index_t row = axis.in * inner, move = axis.dilation * inner, results = axis.out * inner;
  const RowOut all = outer == 1 ? to : take_row(how_, outer * row, arena_);
  const RowOut first = moved(how_, from, axis.start(0) * inner);
  const index_t n = (outer - 1) * row + results;
  doubled_.fold(read(first, 0, radix), axis.kernel, move, n, all);
  for (index_t b = 0; outer > 1 && b < outer; ++b)
    copy(moved(how_, all, b * row), results, moved(how_, to, b * results));
}

// Windows at every place, of which those that step take some.
void AxesFolder::fold_places(const Axis& axis, const RowOut& from, index_t inner, index_t radix, const RowOut& to) {
  RowOut first = from;
  if (apart_.value != nullptr) {
    const index_t start = axis.start(0), end = start + places_of(axis);
    fill_identity(how_, apart_, (end - start) * inner);
    if (axis.spacing == 1) {
      const Range there = intersect({start, end}, {0, axis.in});
      copy(moved(how_, from, there.begin * inner), there.size() * inner,
           moved(how_, apart_, (there.begin - start) * inner));
    } else {
      for (index_t i = 0; i < axis.in; ++i) {
        const index_t place = i * axis.spacing;
        if (place >= start && place < end)
          copy(moved(how_, from, i * inner), inner, moved(how_, apart_, (place - start) * inner));
      }
    }
    first = apart_;
  } else {
    first = moved(how_, from, axis.start(0) * inner);
  }
  const index_t n = outputs_of(axis);
  const bool steps = axis.stride > 1;
  if (ends_ != nullptr)
    fold_first_places(axis, first, inner, n, steps ? every_ : to);
  else
    doubled_.fold(read(first, 0, radix), axis.kernel, axis.dilation * inner, n * inner, steps ? every_ : to);
  if (!steps) return;
  const StridedCopy pick = strided_copy();
  pick(every_.value, axis.stride, axis.out, inner * how_.value_bytes, to.value);
  if (to.extra != nullptr) pick(every_.extra, axis.stride, axis.out, inner * how_.extra_bytes, to.extra);
}

// Extrema in the exact way at every place: of those that are a dilation apart.
void AxesFolder::fold_first_places(const Axis& axis, const RowOut& first, index_t inner, index_t places,
                                   const RowOut& to) const {
  for (index_t r = 0; r < std::min(axis.dilation, places); ++r) {
    first_rows_({.x = moved(how_, first, r * inner).value,
                 .pitch = axis.dilation * inner,
                 .n = inner,
                 .kernel = axis.kernel,
                 .windows = ceil_div(places - r, axis.dilation),
                 .out = moved(how_, to, r * inner).value,
                 .scratch = ends_});
  }
}

// The same output by output, of the taps that exist.
void AxesFolder::fold_first_outputs(const Axis& axis, const RowOut& from, index_t inner, const RowOut& to) const {
  for (index_t o = 0; o < axis.out; ++o) {
    const Range taps = axis.taps(o);
    const RowOut out = moved(how_, to, o * inner);
    if (taps.empty()) {
      fill_identity(how_, out, inner);
      continue;
    }
    first_rows_({.x = moved(how_, from, axis.at(o, taps.begin) * inner).value,
                 .pitch = axis.dilation * inner,
                 .n = inner,
                 .kernel = taps.size(),
                 .windows = 1,
                 .out = out.value,
                 .scratch = ends_});
  }
}

// Output by output.
void AxesFolder::fold_outputs(const Axis& axis, const RowOut& from, index_t inner, index_t radix, const RowOut& to) {
  if (ends_ != nullptr) return fold_first_outputs(axis, from, inner, to);
  for (index_t o = 0; o < axis.out; ++o) {
    const index_t width = axis.width(o);
    for (index_t t = 0; t < width; ++t) {
      const index_t input = axis.input_at(axis.at(o, t));
      taps_[t] = input < 0 ? read(absent_, 0, t * radix) : read(from, input * inner, t * radix);
    }
    pairwise_.fold(taps_, width, inner, moved(how_, to, o * inner));
  }
}

// Counts the taps of the outputs along a row.
void AxesFolder::count_taps() {
  if (!asks_for_counts(how_)) return;
  const Axis axis = layout_.row_axis >= 0 ? axis_[at(layout_.row_axis)] : Axis::uniform(1, 1, 1, 0, 0);
  counts_.count(axis, how_, RunTaps::equal, arena_.take_array<RowRun>(axis.out));
}

LowerParams AxesFolder::lower_params(const RowCoords& o) const {
  LowerParams p = counts_.params(how_);
  for (int a = 0; a < layout_.pooled(); ++a) {
    if (a != layout_.row_axis) add_axis(p, how_, axis_[at(a)], o[at(a)]);
  }
  return p;
}

// Results, and indices, from a box whose axes are all folded.
void AxesFolder::lower(const RowOut& row) const {
  const Pitches none{};
  const Pitches& along = layout_.row_axis >= 0 ? layout_.axis[at(layout_.row_axis)].pitch : none;
  const index_t n = layout_.row_axis >= 0 ? extent_[at(layout_.row_axis)] : 1;
  const index_t pitch = layout_.row_axis >= 0 ? along[kY] : lanes_;
  const LowerRow lower_row = how_.lower != nullptr ? how_.lower : how_.store;
  IndexRow index{.parts = {}, .origin = plane_[kFlat], .lanes = lanes_};
  for (int a = 0; a < layout_.pooled(); ++a) index.parts[at(a)] = {&axis_[at(a)], in_begin_[at(a)], 0, radix_[at(a)]};
  each_row([&](const RowCoords& c, index_t number) {
    Pitches to = plane_;
    for (int a = 0; a < layout_.pooled(); ++a) {
      const index_t o = box_.outputs[at(a)].begin + (a == layout_.row_axis ? 0 : c[at(a)]);
      index.parts[at(a)].output = c[at(a)];
      for (Operand operand : {kY, kIndex}) to[operand] += o * layout_.axis[at(a)].pitch[operand];
    }
    const RowIn acc = read(row, number * n * lanes_, 0);
    lower_row(acc, n, lanes_, lower_params(c), static_cast<std::byte*>(job_.y) + to[kY] * how_.out_bytes, pitch,
              layout_.lanes.pitch[kY]);
    if (job_.index == nullptr || acc.extra == nullptr) return;
    write_index_row(job_, index, acc.extra, how_.extra_bytes, n,
                    static_cast<std::byte*>(job_.index) + to[kIndex] * size_bytes(job_.index_dtype));
  });
}

}  // namespace oriel::cpu
