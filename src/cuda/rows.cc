#include "cuda/rows.h"

#include <array>

namespace oriel::cuda {
namespace {

bool has_single_places(const Axis& a) {
  return !a.adaptive && a.kernel == 1 && a.stride == 1 && a.first == 0 && a.in == a.out;
}

int axis_of(const Problem& p, int pooled) { return p.axes[static_cast<std::size_t>(pooled)]; }

index_t run_of(const Planes& planes, const std::array<index_t, 3>& extents, const PlanePitches& pitches) {
  const index_t extent[] = {extents[2], extents[1], extents[0], planes.count};
  const index_t pitch[] = {pitches.column, pitches.row, pitches.depth, pitches.plane};
  index_t run = planes.lanes;
  for (int i = 0; i < 4; ++i) {
    if (extent[i] > 1 && pitch[i] != run) return 0;
    run *= extent[i];
  }
  return run;
}

}  // namespace

bool plane_pitches(const Problem& p, const Planes& planes, const Extents& pitch, PlanePitches& to) {
  index_t* const pooled[] = {&to.depth, &to.row, &to.column};
  int next = 3 - planes.pooled;
  for (int a = 0; a < p.pooled; ++a) {
    if (planes.pools[axis_of(p, a)]) *pooled[next++] = pitch[axis_of(p, a)];
  }
  index_t count = 1;
  for (int axis = p.shape.size() - 1; axis >= 0; --axis) {
    if (planes.pools[axis] || axis == planes.lane_axis || p.shape[axis] == 1) continue;
    if (count == 1) to.plane = pitch[axis];
    if (pitch[axis] != to.plane * count) return false;
    count *= p.shape[axis];
  }
  return true;
}

index_t run_of(const Planes& planes, const PlanePitches& pitches) {
  return run_of(planes, {planes.d.in, planes.h.in, planes.w.in}, pitches);
}

index_t run_of_outputs(const Planes& planes, const PlanePitches& pitches) {
  return run_of(planes, {planes.d.out, planes.h.out, planes.w.out}, pitches);
}

bool make_planes(const Problem& p, const Extents& x, const Extents& y, Planes& planes) {
  Axis axes[3];
  int last = -1;
  for (int a = 0; a < p.pooled; ++a) {
    const Axis& axis = p.axis[static_cast<std::size_t>(a)];
    if (has_single_places(axis) && a + 1 < p.pooled) continue;
    if (planes.pooled == 3 || axis_of(p, a) < last) return false;
    last = axis_of(p, a);
    axes[planes.pooled++] = axis;
    planes.pools[last] = true;
  }
  Axis* const to[] = {&planes.d, &planes.h, &planes.w};
  for (int i = 0; i < 3; ++i) {
    const int from = i - (3 - planes.pooled);
    *to[i] = from < 0 ? Axis::uniform(1, 1, 1, 0, 0) : axes[from];
  }
  for (int axis = 0; axis < p.shape.size(); ++axis) {
    if (!planes.pools[axis] && x[axis] == 1 && y[axis] == 1 && p.shape[axis] > 1) planes.lane_axis = axis;
  }
  for (int axis = 0; axis < p.shape.size(); ++axis) {
    if (planes.pools[axis]) continue;
    (axis == planes.lane_axis ? planes.lanes : planes.count) *= p.shape[axis];
  }
  return plane_pitches(p, planes, x, planes.x) && plane_pitches(p, planes, y, planes.y);
}

}  // namespace oriel::cuda
