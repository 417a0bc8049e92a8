#include "cpu/argmax/boxes.h"

#include <algorithm>

#include "cpu/plan/windows.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kKeptBytes = index_t{192} << 10;  // folded rows of a box, at most
constexpr index_t kHalo = 16;                       // at most such a part of a box is looked at twice
constexpr index_t kRowElems = 4096;                 // outputs of a row: longer rows are cut
constexpr index_t kTasksPerThread = 4;

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool finds_places(const Problem& problem, const RowLayout& layout) {
  if ((problem.pool.op != Op::max && problem.pool.op != Op::min) || problem.dtype == Dtype::boolean) return false;
  if (problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype)) return false;
  const int axes = layout.pooled();
  if (axes > kMostPlaceAxes) return false;
  // Rows run along the last axis, so that a row's first best is the first of its taps; or lanes do, and it may.
  const bool lanes_dense = layout.lanes.n >= 16 && layout.lanes.pitch[kX] == 1;
  if (layout.row_axis != axes - 1 && !(layout.row_axis < 0 && lanes_dense)) return false;
  if (layout.axis[at(axes - 1)].axis.stride > kMostPlaceStep) return false;
  index_t span = layout.lanes.n * std::max<index_t>(1, layout.lanes.pitch[kFlat]);
  for (int a = 0; a < axes; ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    // Three digits do not fit codes of eight bits.
    const index_t most = a == 0 && axes == kMostPlaceAxes && size_bytes(problem.dtype) == 1 ? 4 : kMostPlaceTaps;
    if (axis.adaptive || axis.spacing != 1 || axis.kernel > most || has_empty_window(axis)) return false;
    span += (axis.extent() + (a == axes - 1 ? axis.in : 0)) * layout.axis[at(a)].pitch[kFlat];
  }
  return span < (index_t{1} << 30);
}

index_t inputs_of(const Axis& axis, index_t outputs) {
  return std::min(axis.in, (outputs - 1) * axis.stride + axis.extent());
}

PlaceCoords place_box_size(const RowLayout& layout, index_t value_bytes, index_t box_bytes, int threads) {
  PlaceCoords size{1, 1, 1};
  const int last = layout.pooled() - 1;
  const Axis& row = layout.axis[at(last)].axis;
  size[at(last)] = std::min(row.out, std::max<index_t>(8, kRowElems / layout.lanes.n));
  index_t room = std::max<index_t>(1, kKeptBytes / (2 * value_bytes * layout.lanes.n * size[at(last)]));  // rows
  index_t tasks = layout.plane_count() * ((row.out + size[at(last)] - 1) / size[at(last)]);
  for (int a = last - 1; a >= 0; --a) {
    const Axis& axis = layout.axis[at(a)].axis;
    const index_t fitting = std::max<index_t>(1, (room - axis.extent()) / axis.stride + 1);
    const index_t small = std::max<index_t>(1, room * box_bytes / kKeptBytes / axis.stride);
    const index_t wanted = std::max(small, kHalo * std::max<index_t>(0, axis.extent() - axis.stride) / axis.stride);
    size[at(a)] = std::min(axis.out, a == 0 ? std::min(fitting, wanted) : fitting);
    const index_t parts = (axis.out + size[at(a)] - 1) / size[at(a)];
    size[at(a)] = (axis.out + parts - 1) / parts;
    room = std::max<index_t>(1, room / inputs_of(axis, size[at(a)]));
    tasks *= (axis.out + size[at(a)] - 1) / size[at(a)];
  }
  // Few planes: smaller boxes, so that there is one for every thread.
  const index_t all = layout.plane_count() * row.out * layout.lanes.n * value_bytes;
  for (int a = 0; a <= last && threads > 1 && tasks < kTasksPerThread * threads; ++a) {
    const index_t out = layout.axis[at(a)].axis.out;
    if (a == last && (last > 0 || all <= 8 * task_bytes)) break;
    const index_t before = (out + size[at(a)] - 1) / size[at(a)];
    const index_t parts = std::min(out, (kTasksPerThread * threads * before + tasks - 1) / tasks);
    size[at(a)] = (out + parts - 1) / parts;
    tasks = tasks / before * ((out + size[at(a)] - 1) / size[at(a)]);
  }
  return size;
}

PlaceBoxes::PlaceBoxes(const RowLayout& layout, const PlaceCoords& size, bool of_inputs)
    : layout_(layout), size_(size) {
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    n_[at(a)] = of_inputs ? axis.in : axis.out;
    parts_[at(a)] = (n_[at(a)] + size[at(a)] - 1) / size[at(a)];
    boxes_ *= parts_[at(a)];
  }
  count = layout.lanes.n == 0 ? 0 : layout.plane_count() * boxes_;
}

PlaceBox PlaceBoxes::box(index_t number) const {
  PlaceBox box{};
  if (boxes_ == 1) {
    for (int a = 0; a < layout_.pooled(); ++a) box[at(a)] = {0, n_[at(a)]};
    return box;
  }
  for (int a = layout_.pooled() - 1; a >= 0; --a) {
    const index_t begin = number % parts_[at(a)] * size_[at(a)];
    number /= parts_[at(a)];
    box[at(a)] = {begin, std::min(n_[at(a)], begin + size_[at(a)])};
  }
  return box;
}

}  // namespace oriel::cpu
