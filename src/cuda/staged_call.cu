#include "cuda/staged_call.h"

#include <algorithm>

namespace oriel::cuda {
namespace {

bool fits(const Problem& p, const Planes& planes) {
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit) return false;
  // Sums of 8 and 16-bit integers are 32-bit ones, codes too.
  if (p.taps() > (size_bytes(p.dtype) <= 2 ? index_t{1} << 15 : index_t{1} << 30)) return false;
  const auto most = index_t{1} << 30;
  for (const Axis* a : {&planes.d, &planes.h, &planes.w}) {
    if (a->kernel >= most_tree_values(kTreeLevels) || a->stride >= most || a->extent() >= most || a->in >= most ||
        a->out >= most || a->first <= -most) {
      return false;
    }
  }
  return true;
}

void describe(const Problem& p, const Planes& planes, StagedGeometry& g) {
  g.pooled = planes.pooled;
  g.planes = planes.count;
  g.lanes = static_cast<int>(planes.lanes);
  g.x = planes.x;
  g.y = planes.y;
  g.count_include_pad = p.pool.count_include_pad;
  g.divisor = p.pool.divisor;
  const Axis* const axes[] = {&planes.d, &planes.h, &planes.w};
  for (int a = 0; a < 3; ++a) {
    StagedAxis& s = g.axis[a];
    s.pool = *axes[a];
    s.axis = g.gradient ? s.pool.adjoint() : s.pool;
    s.kernel = static_cast<int>(s.pool.kernel);
    s.dilation = static_cast<int>(s.pool.dilation);
    s.spacing = Divider<std::uint32_t>(s.axis.spacing);
  }
}

}  // namespace

index_t span_of(const Axis& a, index_t n) {
  const index_t span = a.adaptive ? n * a.in / a.out + 2 : ((n - 1) * a.stride + a.extent() - 1) / a.spacing + 1;
  return std::min(a.in, span);
}

void StagedLayout::place_tables(const StagedGeometry& g, const index_t (&out)[3]) {
  bytes = sizeof(StagedTile);
  for (int a = 0; a < 3; ++a) {
    table[a] = place(out[a] * static_cast<index_t>(sizeof(Taps)));
    share_table[a] = place(g.gradient && g.average ? span_of(g.axis[a].axis, out[a]) * 4 : 0);
  }
}

void StagedLayout::set(StagedGeometry& g) const {
  g.elements = static_cast<int>(elements);
  g.folds = static_cast<int>(folds);
  for (int a = 0; a < 3; ++a) {
    g.axis[a].table = static_cast<int>(table[a]);
    g.axis[a].share_table = static_cast<int>(share_table[a]);
  }
}

bool staged_call(const Forward& call, StagedGeometry& g) {
  const Problem& p = call.problem;
  Planes planes;
  if (!make_planes(p, call.x.pitch, call.y.pitch, planes) || !fits(p, planes)) return false;
  if (!all_have_taps(planes.d) || !all_have_taps(planes.h) || !all_have_taps(planes.w)) return false;
  describe(p, planes, g);
  return make_plane_indices(call, planes, g.index);
}

bool staged_call(const Problem& p, const ConstTensor& dy, const Tensor& dx, StagedGeometry& g) {
  Planes planes;
  if (!make_planes(p, dy.pitch, dx.pitch, planes) || !fits(p, planes)) return false;
  g.gradient = true;
  g.average = p.pool.op == Op::avg;
  describe(p, planes, g);
  return true;
}

}  // namespace oriel::cuda
