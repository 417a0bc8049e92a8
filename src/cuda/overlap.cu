#include "cuda/overlap.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

constexpr int kTaps = 3;

// A gradient over planes, with the pitches of every side.
struct Fit {
  Planes dx;                   // its y: dy
  PlanePitches x;              // of extrema
  const void* from = nullptr;  // x, or null
};

// The step and the padding before that have a kernel.
bool has_kernel(const Axis& a, index_t stride, index_t before) {
  return a.kernel == kTaps && a.stride == stride && a.first == -before;
}

bool fits(const Problem& p, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, Fit& fit) {
  const bool extremum = p.pool.op == Op::max || p.pool.op == Op::min;
  const auto most = index_t{1} << 30;  // places in a plane are 32-bit numbers
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit || p.pool.divisor >= kFloatDivisors) return false;
  const auto in_rows = [&](const PlanePitches& t) { return t.column == 1 && t.row < most && t.row > -most; };
  if (!make_planes(p, dx.pitch, dy.pitch, fit.dx) || fit.dx.pooled != 2 || fit.dx.lanes != 1 || !are_plain(fit.dx) ||
      !in_rows(fit.dx.x) || !in_rows(fit.dx.y)) {
    return false;
  }
  if (extremum) {
    if (!plane_pitches(p, fit.dx, x->pitch, fit.x) || !in_rows(fit.x)) return false;
    fit.from = x->data;
  }
  const Axis &h = fit.dx.h, &w = fit.dx.w;
  return all_have_taps(h) && all_have_taps(w) && h.in < most && w.in < most && h.out < most && w.out < most;
}

template <class T, int S, int PL, bool kAnywhere>
bool launch_overlap(const Problem& p, const Fit& fit, const ConstTensor& dy, const Tensor& dx, void* stream) {
  constexpr int kOut = kLanes<T> / S;
  using Shape = Overlap<T, kTaps, S, PL, kOut, kAnywhere>;
  const auto element = static_cast<index_t>(sizeof(T));
  const PlanePitches &to = fit.dx.x, &from = fit.dx.y;
  const Axis &h = fit.dx.h, &w = fit.dx.w;
  if (!kAnywhere && (w.in % Shape::kOwn != 0 || !is_aligned(dx.data, kWidest, element, {to.plane, to.row}) ||
                     (fit.from != nullptr && !is_aligned(fit.from, kWidest, element, {fit.x.plane, fit.x.row})))) {
    return false;
  }
  const index_t groups = std::max(ceil_div(w.in, Shape::kOwn), ceil_div(w.out, kOut));
  const index_t strips = ceil_div(h.in, kOverlapSteps<S> * S), count = groups * strips * fit.dx.count;
  if (!is_small(count)) return false;
  OverlapGeometry g;
  g.count = static_cast<std::uint32_t>(count);
  g.groups = Divider<std::uint32_t>(groups);
  g.strips = Divider<std::uint32_t>(strips);
  g.in_rows = static_cast<int>(h.in);
  g.in_columns = static_cast<int>(w.in);
  g.out_rows = static_cast<int>(h.out);
  g.out_columns = static_cast<int>(w.out);
  g.first_row = static_cast<int>(h.first);
  g.x_plane = fit.x.plane;
  g.x_row = static_cast<int>(fit.x.row);
  g.dy_plane = from.plane;
  g.dy_row = static_cast<int>(from.row);
  g.dx_plane = to.plane;
  g.dx_row = static_cast<int>(to.row);
  g.x_run = fit.from != nullptr ? run_of(fit.dx, fit.x) : 0;
  g.dy_run = run_of_outputs(fit.dx, from);
  g.dy_aligned = is_aligned(dy.data, kOut * element, element, {from.plane, from.row});
  g.average = p.pool.op == Op::avg;
  g.divisor = static_cast<int>(p.pool.divisor);
  g.rows = Counted(h, p.pool.count_include_pad);
  g.columns = Counted(w, p.pool.count_include_pad);
  const index_t threads = ceil_div(count, kOverlapLanes) * kWarp;
  const T* sent = static_cast<const T*>(dy.data);
  T* made = static_cast<T*>(dx.data);
  if (fit.from == nullptr) {
    launch(&overlap_sum<T, kTaps, S, PL, kOut, kAnywhere>, threads, kBlock, 0, stream, g, sent, made);
  } else {
    launch(&overlap_extremum<T, kTaps, S, PL, kOut, kAnywhere>, threads, kBlock, 0, stream, g,
           static_cast<const T*>(fit.from), sent, made, Extreme<T>{p.pool.op == Op::min});
  }
  return true;
}

template <int S, int PL>
bool launch_shape(const Problem& p, const Fit& fit, const ConstTensor& dy, const Tensor& dx, void* stream) {
  const auto either = [&]<class T>() {
    return launch_overlap<T, S, PL, false>(p, fit, dy, dx, stream) ||
           launch_overlap<T, S, PL, true>(p, fit, dy, dx, stream);
  };
  switch (p.dtype) {
    case Dtype::f32:
      return either.template operator()<float>();
    case Dtype::f16:
      return either.template operator()<half>();
    case Dtype::bf16:
      return either.template operator()<bfloat16>();
    default:
      return false;
  }
}

}  // namespace

bool overlap_gradient(const Problem& p, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, void* stream) {
  Fit fit;
  if (!fits(p, x, dy, dx, fit)) return false;
  const auto shape = [&](index_t stride, index_t before) {
    return has_kernel(fit.dx.h, stride, before) && has_kernel(fit.dx.w, stride, before);
  };
  if (shape(1, 1)) return launch_shape<1, 1>(p, fit, dy, dx, stream);
  if (shape(2, 1)) return launch_shape<2, 1>(p, fit, dy, dx, stream);
  return shape(2, 0) && launch_shape<2, 0>(p, fit, dy, dx, stream);
}

}  // namespace oriel::cuda
