#include "cpu/plan/layout.h"

#include <cstdlib>
#include <utility>

namespace oriel::cpu {
namespace {

// Lanes beside each other beyond this many are rows of their own, so that a row stays in the first cache.
constexpr index_t kFewTaps = 20;
constexpr index_t kMostLanesInRow = 4096;
// Fewer lanes than this make rows too short for vectors: then a row is gathered along the row axis.
constexpr index_t kFewLanes = 16;

// Row-major pitches of what an index counts: all axes of the tensor, or the pooled ones in the problem's order.
Extents flat_pitch(const Problem& problem, const Extents& shape, IndexSpace space) {
  if (space == IndexSpace::tensor) return dense_pitch(shape);
  Extents pitch = Extents::filled(shape.size(), 0);
  index_t step = 1;
  for (int a = problem.pooled - 1; a >= 0; --a) {
    const int axis = problem.axes[static_cast<std::size_t>(a)];
    pitch[axis] = step;
    step *= shape[axis];
  }
  return pitch;
}

bool continues(const LoopDim& inner, const LoopDim& outer) {
  for (std::size_t p = 0; p < inner.pitch.size(); ++p) {
    if (outer.pitch[p] != inner.pitch[p] * inner.n) return false;
  }
  return true;
}

// Outermost first; broadcast dimensions are planes.
bool is_outside(const LoopDim& a, const LoopDim& b) {
  const index_t pa = std::abs(a.pitch[kX]), pb = std::abs(b.pitch[kX]);
  if (pa == 0 || pb == 0) return pa == 0 && pb != 0;
  return pa > pb;
}

// Takes the innermost dimensions that are one run of memory out of `dims` (sorted, innermost last).
LoopDim take_lanes(InlineList<LoopDim, kMaxRank>& dims) {
  LoopDim lanes = dims.back();
  dims.pop_back();
  while (!dims.empty() && continues(lanes, dims.back())) {
    lanes.n *= dims.back().n;
    dims.pop_back();
  }
  return lanes;
}

// Every window is one input, the first output's the first.
bool is_view(const Axis& axis) {
  return axis.kernel == 1 && axis.first == 0 && axis.out > 0 && axis.full() == Range{0, axis.out};
}

// The pooled axis whose inputs lie closest together; axes of one input tell nothing.
int closest_axis(const RowLayout& layout) {
  int best = layout.pooled() - 1;
  bool found = false;
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    const PooledAxis& p = layout.axis[static_cast<std::size_t>(a)];
    const PooledAxis& q = layout.axis[static_cast<std::size_t>(best)];
    if (p.axis.in <= 1 || p.pitch[kX] == 0) continue;
    if (!found || std::abs(p.pitch[kX]) < std::abs(q.pitch[kX])) best = a;
    found = true;
  }
  return best;
}

}  // namespace

index_t RowLayout::plane_count() const {
  index_t count = 1;
  for (const LoopDim& d : planes) count *= d.n;
  return count;
}

bool RowLayout::is_stack() const {
  if (row_axis != pooled() - 1) return false;
  if (lanes.n > 1 && (lanes.pitch[kX] != 1 || lanes.pitch[kY] != 1)) return false;
  index_t x = lanes.n, y = lanes.n;
  for (int a = pooled() - 1; a >= 0; --a) {
    const PooledAxis& p = axis[static_cast<std::size_t>(a)];
    if ((p.axis.in > 1 && p.pitch[kX] != x) || (p.axis.out > 1 && p.pitch[kY] != y)) return false;
    x *= p.axis.in;
    y *= p.axis.out;
  }
  for (const LoopDim* d = planes.end(); d != planes.begin();) {
    --d;
    if (d->pitch[kX] != x || d->pitch[kY] != y) return false;
    x *= d->n;
    y *= d->n;
  }
  return true;
}

bool RowLayout::has_dense_rows(Operand operand) const {
  if (lanes.n > 1 && lanes.pitch[operand] != 1) return false;
  if (row_axis < 0) return true;
  const PooledAxis& row = axis[static_cast<std::size_t>(row_axis)];
  return (operand == kX ? row.axis.in : row.axis.out) == 1 || row.pitch[operand] == lanes.n;
}

index_t RowLayout::plane_offset(index_t plane, Operand operand) const { return plane_offsets(plane)[operand]; }

Pitches RowLayout::plane_offsets(index_t plane) const {
  Pitches offsets{};
  for (const LoopDim* d = planes.end(); d != planes.begin();) {
    --d;
    const index_t at = plane % d->n;
    for (std::size_t p = 0; p < offsets.size(); ++p) offsets[p] += at * d->pitch[p];
    plane /= d->n;
  }
  return offsets;
}

RowLayout make_layout(const Problem& problem, const std::array<Axis, kMaxPooledAxes>& axis, const ConstTensor& x,
                      const Tensor& y, const Tensor* index, IndexSpace space, SingleTaps single) {
  RowLayout layout;
  const Extents flat = flat_pitch(problem, x.shape, space);
  const auto pitches = [&](int d) {
    return Pitches{x.pitch[d], y.pitch[d], index == nullptr ? 0 : index->pitch[d], flat[d]};
  };
  InlineList<LoopDim, kMaxRank>& dims = layout.planes;
  const auto add_planes = [&](index_t n, const Pitches& pitch) {
    if (n == 1) return;
    dims.push_back({n, pitch});
    for (LoopDim* at = dims.end() - 1; at != dims.begin() && is_outside(at[0], at[-1]); --at) std::swap(at[0], at[-1]);
  };
  std::array<bool, kMaxRank> is_pooled{};
  for (int a = 0; a < problem.pooled; ++a) {
    const int d = problem.axes[static_cast<std::size_t>(a)];
    const Axis& windows = axis[static_cast<std::size_t>(a)];
    is_pooled[static_cast<std::size_t>(d)] = true;
    const bool needed = a + 1 == problem.pooled && layout.pooled() == 0;  // a fold has an axis
    if (single == SingleTaps::planes && !needed && is_view(windows))
      add_planes(windows.out, {x.pitch[d] * windows.stride, y.pitch[d], 0, 0});
    else
      layout.axis.push_back({windows, pitches(d)});
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (!is_pooled[static_cast<std::size_t>(d)]) add_planes(x.shape[d], pitches(d));
  }
  const int closest = closest_axis(layout);
  const PooledAxis& row = layout.axis[static_cast<std::size_t>(closest)];
  layout.row_axis = closest;
  const Operand told_by = row.axis.in > 1 || row.axis.out <= 1 ? kX : kY;  // the gradient of one window writes many
  const bool lanes_inside =
      !dims.empty() && dims.back().pitch[kX] != 0 &&
      ((row.axis.in <= 1 && row.axis.out <= 1) || std::abs(dims.back().pitch[told_by]) < std::abs(row.pitch[told_by]));
  if (lanes_inside) {
    layout.lanes = take_lanes(dims);
    const LoopDim& lanes = layout.lanes;
    // One large window is folded across its positions: 784 of 256 lanes took 41 us as a row, 9 so;
    // of 20 taps the two are even.
    const bool one_window = layout.pooled() == 1 && row.axis.out == 1 && row.axis.kernel > kFewTaps;
    const bool joined = row.pitch[kX] == lanes.n * lanes.pitch[kX] && lanes.n <= kMostLanesInRow && !one_window;
    if (!joined && lanes.n >= kFewLanes) layout.row_axis = -1;
  }
  return layout;
}

RowCoords row_coords(const RowLayout& layout, index_t number) {
  RowCoords c{};
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    if (a == layout.row_axis) continue;
    const index_t out = layout.axis[static_cast<std::size_t>(a)].axis.out;
    c[static_cast<std::size_t>(a)] = number % out;
    number /= out;
  }
  return c;
}

void to_next_row(const RowLayout& layout, RowCoords& c) {
  for (int a = layout.pooled() - 1; a >= 0; --a) {
    if (a == layout.row_axis) continue;
    index_t& at = c[static_cast<std::size_t>(a)];
    if (++at < layout.axis[static_cast<std::size_t>(a)].axis.out) return;
    at = 0;
  }
}

index_t row_offset(const RowLayout& layout, const RowCoords& c, Operand operand) {
  index_t offset = 0;
  for (int a = 0; a < layout.pooled(); ++a) {
    const auto i = static_cast<std::size_t>(a);
    if (a != layout.row_axis) offset += c[i] * layout.axis[i].pitch[operand];
  }
  return offset;
}

int axis_along(const RowLayout& layout) {
  if (layout.row_axis >= 0) return layout.row_axis;
  return layout.pooled() > 1 ? layout.pooled() - 1 : -1;
}

}  // namespace oriel::cpu
