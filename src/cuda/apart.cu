#include "cuda/apart.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

template <class T>
bool launch_apart(const Problem& p, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, const Planes& planes,
                  const PlanePitches& px, void* stream) {
  constexpr int kOwn = kLanes<T>, kOut = kOwn / 2;
  const auto element = static_cast<index_t>(sizeof(T));
  const PlanePitches &to = planes.x, &from = planes.y;
  const index_t groups = planes.w.in / kOwn, pairs = (planes.h.in + 1) / 2, count = groups * pairs * planes.count;
  if (planes.w.in % kOwn != 0 || !is_small(count) || !is_aligned(dx.data, kWidest, element, {to.plane, to.row}) ||
      (x != nullptr && !is_aligned(x->data, kWidest, element, {px.plane, px.row}))) {
    return false;
  }
  ApartGeometry g;
  g.count = static_cast<std::uint32_t>(count);
  g.groups = Divider<std::uint32_t>(groups);
  g.pairs = Divider<std::uint32_t>(pairs);
  g.h = planes.h;
  g.w = planes.w;
  g.dx_plane = to.plane;
  g.dx_row = to.row;
  g.dy_plane = from.plane;
  g.dy_row = from.row;
  g.x_plane = px.plane;
  g.x_row = px.row;
  g.dy_aligned = is_aligned(dy.data, kWidest / 2, element, {from.plane, from.row});
  if (p.pool.op == Op::avg) g.divisor = p.pool.divisor > 0 ? p.pool.divisor : planes.h.kernel * planes.w.kernel;
  const Extreme<T> r{p.pool.op == Op::min};
  const auto start = [&](auto kernel) {
    launch(kernel, count, kBlock, 0, stream, g, x != nullptr ? static_cast<const T*>(x->data) : nullptr,
           static_cast<const T*>(dy.data), static_cast<T*>(dx.data), r);
    return true;
  };
  return x != nullptr ? start(&apart<T, kOut, true>) : start(&apart<T, kOut, false>);
}

bool is_apart(const Axis& a) {
  return is_plain(a) && a.kernel == 2 && a.stride == 2 && a.first == 0 && a.full().size() == a.out &&
         a.in < (index_t{1} << 30);
}

}  // namespace

bool apart_gradient(const Problem& p, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, void* stream) {
  const bool extremum = p.pool.op == Op::max || p.pool.op == Op::min;
  Planes planes;
  PlanePitches px;
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit) return false;
  if (!make_planes(p, dx.pitch, dy.pitch, planes) || planes.pooled != 2 || planes.lanes != 1 || !is_apart(planes.h) ||
      !is_apart(planes.w) || planes.x.column != 1 || planes.y.column != 1) {
    return false;
  }
  if (extremum && (!plane_pitches(p, planes, x->pitch, px) || px.column != 1)) return false;
  const ConstTensor* read = extremum ? x : nullptr;
  switch (p.dtype) {
    case Dtype::f32:
      return launch_apart<float>(p, read, dy, dx, planes, px, stream);
    case Dtype::f16:
      return launch_apart<half>(p, read, dy, dx, planes, px, stream);
    case Dtype::bf16:
      return launch_apart<bfloat16>(p, read, dy, dx, planes, px, stream);
    default:
      return false;
  }
}

}  // namespace oriel::cuda
