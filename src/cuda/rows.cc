#include "cuda/rows.h"

namespace oriel::cuda {
namespace {

// The axes that are not pooled as one run: their common pitch in both tensors.
bool join(const Problem& p, const Extents& x, const Extents& y, const bool* pooled, int skipped, Planes& planes) {
  bool first = true;
  for (int axis = p.shape.size() - 1; axis >= 0; --axis) {
    if (pooled[axis] || axis == skipped || p.shape[axis] == 1) continue;
    if (first) {
      planes.x.plane = x[axis];
      planes.y.plane = y[axis];
      first = false;
    } else if (x[axis] != planes.x.plane * planes.count || y[axis] != planes.y.plane * planes.count) {
      return false;
    }
    planes.count *= p.shape[axis];
  }
  return true;
}

}  // namespace

bool make_planes(const Problem& p, const Extents& x, const Extents& y, Planes& planes, index_t* lanes) {
  if (p.pooled < 2 || p.pooled > 3) return false;
  planes.pooled = p.pooled;
  bool pooled[kMaxRank] = {};
  for (int a = 0; a < p.pooled; ++a) {
    const std::size_t i = static_cast<std::size_t>(a);
    pooled[p.axes[i]] = true;
    if (a > 0 && p.axes[i] < p.axes[i - 1]) return false;
    if (p.axis[i].adaptive || p.axis[i].dilation != 1) return false;
  }
  const auto axis = [&](int from_last) { return static_cast<std::size_t>(p.pooled - 1 - from_last); };
  planes.w = p.axis[axis(0)];
  planes.h = p.axis[axis(1)];
  planes.d = p.pooled == 3 ? p.axis[axis(2)] : Axis::uniform(1, 1, 1, 0, 0);
  const auto pitches = [&](const Extents& pitch, PlanePitches& to) {
    to.column = pitch[p.axes[axis(0)]];
    to.row = pitch[p.axes[axis(1)]];
    to.depth = p.pooled == 3 ? pitch[p.axes[axis(2)]] : 0;
  };
  pitches(x, planes.x);
  pitches(y, planes.y);
  int skipped = -1;
  if (lanes != nullptr) {
    *lanes = 1;
    for (int a = 0; a < p.shape.size(); ++a) {
      if (!pooled[a] && x[a] == 1 && y[a] == 1 && p.shape[a] > 1) {
        skipped = a;
        *lanes = p.shape[a];
      }
    }
  }
  return join(p, x, y, pooled, skipped, planes);
}

}  // namespace oriel::cuda
