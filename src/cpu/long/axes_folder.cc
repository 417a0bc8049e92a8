#include "cpu/long/axes_folder.h"

#include <algorithm>
#include <cstring>

#include "cpu/long/axes.h"
#include "cpu/plan/index_rows.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/kernels.h"
#include "cpu/recipe/recipe.h"

namespace oriel::cpu {
namespace {

constexpr index_t kBoxBytes = index_t{1} << 20;  // of accumulators, about
constexpr index_t kFewestElems = 16;             // beside each other

FoldFirstRows first_rows_of(const Problem& problem, const RowReduction& exact, Nan nan) {
  if (!is_floating_extremum(problem)) return nullptr;
  return exact_table().first_rows(problem.pool.op, exact.value_bytes == 8 ? Lane::f64 : Lane::f32, nan);
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

AxesFolder::AxesFolder(const FoldJob& job, const RowReduction& how, bool scan_order, FoldFirstRows first_rows,
                       Arena& arena)
    : job_(job),
      layout_(job.layout),
      how_(how),
      scan_order_(scan_order),
      arena_(arena),
      one_(how, job.problem != nullptr && (how.any_order || scan_order), first_rows, arena) {
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
    : AxesFolder(job, exact, in_scan_order(exact), first_rows_of(*job.problem, exact, nan), arena) {}

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
    row = one_.fold(view_of(a), row);
    extent_[at(a)] = axis_[at(a)].out;
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

// The box seen from its axis a.
AxisView AxesFolder::view_of(int a) const {
  AxisView view{
      .axis = axis_[at(a)], .inner = lanes_, .radix = radix_[at(a)], .slides = slides(layout_.axis[at(a)].axis)};
  bool inside = false;
  for (int b : order_) {
    if (b == a)
      inside = true;
    else
      (inside ? view.inner : view.outer) *= extent_[at(b)];
  }
  return view;
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
    const RowIn acc = shifted(how_, {row.value, row.extra, 0}, number * n * lanes_, 0);
    lower_row(acc, n, lanes_, lower_params(c), static_cast<std::byte*>(job_.y) + to[kY] * how_.out_bytes, pitch,
              layout_.lanes.pitch[kY]);
    if (job_.index == nullptr || acc.extra == nullptr) return;
    write_index_row(job_, index, acc.extra, how_.extra_bytes, n,
                    static_cast<std::byte*>(job_.index) + to[kIndex] * size_bytes(job_.index_dtype));
  });
}

}  // namespace oriel::cpu
