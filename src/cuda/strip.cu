#include "cuda/strip.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

// The shapes that have a kernel: kernel size, stride, padding before.
enum class Shape { none, k2s2, k3s2, k3s2p1, k3s1p1 };

Shape shape_of(const Axis& a) {
  if (a.kernel == 2 && a.stride == 2 && a.first == 0) return Shape::k2s2;
  if (a.kernel == 3 && a.stride == 2 && a.first == 0) return Shape::k3s2;
  if (a.kernel == 3 && a.stride == 2 && a.first == -1) return Shape::k3s2p1;
  if (a.kernel == 3 && a.stride == 1 && a.first == -1) return Shape::k3s1p1;
  return Shape::none;
}

bool has_kernels(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::u8;
}

// The call as planes for a strip, and its shape; none when it does not fit.
Shape fit(const Forward& call, Planes& planes) {
  const Problem& p = call.problem;
  if (!has_kernels(p.dtype) || p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit) return Shape::none;
  if (!make_planes(p, call.x.pitch, call.y.pitch, planes) || planes.pooled < 2 || !are_plain(planes)) {
    return Shape::none;
  }
  if (planes.lanes != 1 || planes.x.column != 1 || planes.y.column != 1) return Shape::none;
  const Shape shape = shape_of(planes.w);
  if (shape == Shape::none || planes.h.kernel != planes.w.kernel || planes.h.stride != planes.w.stride) {
    return Shape::none;
  }
  const bool volume = planes.pooled == 3;
  if (volume && (shape != Shape::k2s2 || planes.d.kernel != 2 || planes.d.stride != 2 || planes.d.first != 0 ||
                 planes.d.full().size() != planes.d.out || call.index != nullptr)) {
    return Shape::none;
  }
  if (!all_have_taps(planes.h) || !all_have_taps(planes.w)) return Shape::none;
  // Places in a plane are 32-bit numbers.
  const auto most = index_t{1} << 30;
  const bool fits = planes.w.in < most && planes.h.in < most && planes.x.row < most && planes.y.row < most &&
                    planes.x.row > -most && planes.y.row > -most && planes.w.extent() < most;
  return fits ? shape : Shape::none;
}

template <class T, int S>
StripGeometry geometry(const Forward& call, const Planes& planes, int outs, bool y_aligned) {
  StripGeometry g;
  const index_t groups = (planes.w.out - 1) / outs + 1;
  const index_t strips = (planes.h.out - 1) / kStripRows<S> + 1;
  const index_t count = groups * strips * planes.d.out * planes.count;
  if (!is_small(count)) return g;
  g.count = static_cast<std::uint32_t>(count);
  g.groups = Divider<std::uint32_t>(groups);
  g.strips = Divider<std::uint32_t>(strips);
  g.depths = Divider<std::uint32_t>(planes.d.out);
  g.in_rows = static_cast<int>(planes.h.in);
  g.in_columns = static_cast<int>(planes.w.in);
  g.out_rows = static_cast<int>(planes.h.out);
  g.out_columns = static_cast<int>(planes.w.out);
  g.first_row = static_cast<int>(planes.h.first);
  g.rows = Counted(planes.h, call.problem.pool.count_include_pad);
  g.columns = Counted(planes.w, call.problem.pool.count_include_pad);
  g.x_plane = planes.x.plane;
  g.y_plane = planes.y.plane;
  g.x_depth = planes.x.depth;
  g.y_depth = planes.y.depth;
  g.x_row = static_cast<int>(planes.x.row);
  g.y_row = static_cast<int>(planes.y.row);
  g.x_run = run_of(planes, planes.x);
  g.y_aligned = y_aligned;
  g.divisor = call.problem.pool.divisor;
  return g;
}

template <class T, int K, int S, int PL, bool kAnywhere>
bool launch_strip(const Forward& call, const Planes& planes) {
  constexpr int kOut = kLanes<T> / S;
  const auto element = static_cast<index_t>(sizeof(T));
  const PlanePitches &px = planes.x, &py = planes.y;
  if (!kAnywhere &&
      (planes.w.in % (kOut * S) != 0 || !is_aligned(call.x.data, kWidest, element, {px.plane, px.depth, px.row}))) {
    return false;
  }
  const bool y_aligned = is_aligned(call.y.data, kWidest / S, element, {py.plane, py.depth, py.row});
  StripGeometry g = geometry<T, S>(call, planes, kOut, y_aligned);
  if (g.count == 0 || !make_plane_indices(call, planes, g.index) ||
      (call.index != nullptr && g.index.pitch.column != 1)) {
    return false;
  }
  g.index.aligned = are_groups_aligned(g.index, kOut, 0);
  if (call.ask_only) return true;
  const T* x = static_cast<const T*>(call.x.data);
  T* y = static_cast<T*>(call.y.data);
  const Extreme<T> extreme{call.problem.pool.op == Op::min};
  const Total<T> total{call.problem.pool.op == Op::avg};
  const auto start = [&](auto kernel, auto reduction) {
    launch(kernel, g.count, kBlock, 0, call.stream, g, x, y, reduction);
    return true;
  };
  const bool extremum = is_extremum(call.problem);
  if (call.index != nullptr) return start(&strip_codes<T, K, S, PL, kOut, kAnywhere>, extreme);
  if constexpr (K == 2) {
    if (planes.pooled == 3) {
      return extremum ? start(&strip<Extreme<T>, T, 2, K, S, PL, kOut, kAnywhere>, extreme)
                      : start(&strip<Total<T>, T, 2, K, S, PL, kOut, kAnywhere>, total);
    }
  }
  return extremum ? start(&strip<Extreme<T>, T, 1, K, S, PL, kOut, kAnywhere>, extreme)
                  : start(&strip<Total<T>, T, 1, K, S, PL, kOut, kAnywhere>, total);
}

template <int K, int S, int PL>
bool launch_shape(const Forward& call, const Planes& planes) {
  const auto either = [&]<class T>() {
    return launch_strip<T, K, S, PL, false>(call, planes) || launch_strip<T, K, S, PL, true>(call, planes);
  };
  switch (call.problem.dtype) {
    case Dtype::f32:
      return either.template operator()<float>();
    case Dtype::f16:
      return either.template operator()<half>();
    case Dtype::bf16:
      return either.template operator()<bfloat16>();
    default:
      return either.template operator()<std::uint8_t>();
  }
}

}  // namespace

bool strip_forward(const Forward& call) {
  Planes planes;
  switch (fit(call, planes)) {
    case Shape::none:
      return false;
    case Shape::k2s2:
      return launch_shape<2, 2, 0>(call, planes);
    case Shape::k3s2:
      return launch_shape<3, 2, 0>(call, planes);
    case Shape::k3s2p1:
      return launch_shape<3, 2, 1>(call, planes);
    case Shape::k3s1p1:
      return launch_shape<3, 1, 1>(call, planes);
  }
  return false;
}

}  // namespace oriel::cuda
