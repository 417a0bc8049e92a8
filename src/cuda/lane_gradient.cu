#include "cuda/lane_gradient.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

// A gradient over planes of channels.
struct Fit {
  Planes dx;          // its y: dy
  PlanePitches code;  // of extrema
};

// Of one more tensor, whose channels stand beside each other too.
bool pitches_of_lanes(const Problem& p, const Planes& planes, const Extents& pitch, PlanePitches& to) {
  return pitch[planes.lane_axis] == 1 && plane_pitches(p, planes, pitch, to);
}

bool is_window(const Axis& a, index_t kernel, index_t stride) { return a.kernel == kernel && a.stride == stride; }

bool fits(const Problem& p, const ConstTensor* code, const ConstTensor& dy, const Tensor& dx, Fit& fit) {
  const auto most = index_t{1} << 30;
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit || p.pool.divisor >= kFloatDivisors) return false;
  if (!make_planes(p, dx.pitch, dy.pitch, fit.dx) || fit.dx.pooled != 2 || fit.dx.lanes == 1 || !are_plain(fit.dx)) {
    return false;
  }
  if (code != nullptr && !pitches_of_lanes(p, fit.dx, code->pitch, fit.code)) return false;
  const Axis &h = fit.dx.h, &w = fit.dx.w;
  return all_have_taps(h) && all_have_taps(w) && h.in < most && w.in < most && h.out < most && w.out < most;
}

LaneGradientGeometry geometry(const Problem& p, const Fit& fit) {
  const PlanePitches &to = fit.dx.x, &from = fit.dx.y, &at = fit.code;
  const Axis &h = fit.dx.h, &w = fit.dx.w;
  LaneGradientGeometry g;
  g.first_row = static_cast<int>(h.first);
  g.first_column = static_cast<int>(w.first);
  g.out_rows = static_cast<int>(h.out);
  g.out_columns = static_cast<int>(w.out);
  g.in_rows = static_cast<int>(h.in);
  g.in_columns = static_cast<int>(w.in);
  g.dy_plane = from.plane;
  g.dy_row = from.row;
  g.dy_column = from.column;
  g.dx_plane = to.plane;
  g.dx_row = to.row;
  g.dx_column = to.column;
  g.code_plane = at.plane;
  g.code_row = at.row;
  g.code_column = at.column;
  g.average = p.pool.op == Op::avg;
  g.divisor = static_cast<int>(p.pool.divisor);
  g.counted_rows = Counted(h, p.pool.count_include_pad);
  g.counted_columns = Counted(w, p.pool.count_include_pad);
  return g;
}

template <class T, int K, int S>
bool launch_lanes(const Problem& p, const Fit& fit, const ConstTensor* code, const ConstTensor& dy, const Tensor& dx,
                  void* stream) {
  constexpr int kOut = kLanes<T>;
  const auto element = static_cast<index_t>(sizeof(T));
  const PlanePitches &to = fit.dx.x, &from = fit.dx.y, &at = fit.code;
  const Axis &h = fit.dx.h, &w = fit.dx.w;
  const index_t groups = fit.dx.lanes / kOut, count = groups * w.in * h.in * fit.dx.count;
  if (fit.dx.lanes % kOut != 0 || !is_small(count) ||
      !is_aligned(dx.data, kWidest, element, {to.plane, to.row, to.column}) ||
      !is_aligned(dy.data, kWidest, element, {from.plane, from.row, from.column}) ||
      (code != nullptr && !is_aligned(code->data, kOut, 1, {at.plane, at.row, at.column}))) {
    return false;
  }
  LaneGradientGeometry g = geometry(p, fit);
  g.count = static_cast<std::uint32_t>(count);
  g.groups = Divider<std::uint32_t>(groups);
  g.columns = Divider<std::uint32_t>(w.in);
  g.rows = Divider<std::uint32_t>(h.in);
  if (code != nullptr) g.code = static_cast<const std::uint8_t*>(code->data);
  const auto start = [&](auto kernel) {
    launch(kernel, count, kBlock, 0, stream, g, static_cast<const T*>(dy.data), static_cast<T*>(dx.data));
    return true;
  };
  return code != nullptr ? start(&lane_gradients<T, K, S, kOut, true>) : start(&lane_gradients<T, K, S, kOut, false>);
}

template <class T>
bool launch_shape(const Problem& p, const Fit& fit, const ConstTensor* code, const ConstTensor& dy, const Tensor& dx,
                  void* stream) {
  const auto is = [&](index_t kernel, index_t stride) {
    return is_window(fit.dx.h, kernel, stride) && is_window(fit.dx.w, kernel, stride);
  };
  if (is(2, 2)) return launch_lanes<T, 2, 2>(p, fit, code, dy, dx, stream);
  if (is(3, 2)) return launch_lanes<T, 3, 2>(p, fit, code, dy, dx, stream);
  return is(3, 1) && launch_lanes<T, 3, 1>(p, fit, code, dy, dx, stream);
}

// Extrema of 2x2 windows that share no input, from x.
template <class T>
bool launch_apart(const Problem& p, const Fit& fit, const ConstTensor& x, const PlanePitches& px, const ConstTensor& dy,
                  const Tensor& dx, void* stream) {
  constexpr int kOut = kLanes<T>;
  const auto element = static_cast<index_t>(sizeof(T));
  const PlanePitches &to = fit.dx.x, &from = fit.dx.y;
  const index_t groups = fit.dx.lanes / kOut, columns = (fit.dx.w.in + 1) / 2, rows = (fit.dx.h.in + 1) / 2;
  const index_t count = groups * columns * rows * fit.dx.count;
  if (fit.dx.lanes % kOut != 0 || !is_small(count) ||
      !is_aligned(dx.data, kWidest, element, {to.plane, to.row, to.column}) ||
      !is_aligned(dy.data, kWidest, element, {from.plane, from.row, from.column}) ||
      !is_aligned(x.data, kWidest, element, {px.plane, px.row, px.column})) {
    return false;
  }
  LaneGradientGeometry g = geometry(p, fit);
  g.count = static_cast<std::uint32_t>(count);
  g.groups = Divider<std::uint32_t>(groups);
  g.columns = Divider<std::uint32_t>(columns);
  g.rows = Divider<std::uint32_t>(rows);
  g.x_plane = px.plane;
  g.x_row = px.row;
  g.x_column = px.column;
  launch(&lanes_apart<T, kOut>, count, kBlock, 0, stream, g, static_cast<const T*>(x.data),
         static_cast<const T*>(dy.data), static_cast<T*>(dx.data), Extreme<T>{p.pool.op == Op::min});
  return true;
}

bool is_apart(const Axis& a) { return is_window(a, 2, 2) && a.first == 0 && a.full().size() == a.out; }

}  // namespace

bool lane_apart_gradient(const Problem& p, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                         void* stream) {
  Fit fit;
  PlanePitches px;
  if (!fits(p, nullptr, dy, dx, fit) || !is_apart(fit.dx.h) || !is_apart(fit.dx.w)) return false;
  if (!pitches_of_lanes(p, fit.dx, x.pitch, px)) return false;
  switch (p.dtype) {
    case Dtype::f32:
      return launch_apart<float>(p, fit, x, px, dy, dx, stream);
    case Dtype::f16:
      return launch_apart<half>(p, fit, x, px, dy, dx, stream);
    case Dtype::bf16:
      return launch_apart<bfloat16>(p, fit, x, px, dy, dx, stream);
    default:
      return false;
  }
}

bool lane_gradient(const Problem& p, const ConstTensor* code, const ConstTensor& dy, const Tensor& dx, void* stream) {
  Fit fit;
  if (!fits(p, code, dy, dx, fit)) return false;
  switch (p.dtype) {
    case Dtype::f32:
      return launch_shape<float>(p, fit, code, dy, dx, stream);
    case Dtype::f16:
      return launch_shape<half>(p, fit, code, dy, dx, stream);
    case Dtype::bf16:
      return launch_shape<bfloat16>(p, fit, code, dy, dx, stream);
    default:
      return false;
  }
}

}  // namespace oriel::cuda
