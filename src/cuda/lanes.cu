#include "cuda/lanes.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

template <class T, int K, int S>
bool launch_lanes(const Forward& call, const Planes& planes) {
  constexpr int kOut = kLanes<T>;
  const auto element = static_cast<index_t>(sizeof(T));
  const PlanePitches &px = planes.x, &py = planes.y;
  const index_t groups = planes.lanes / kOut, strips = ceil_div(planes.h.out, kLaneRows<K, S, kOut>);
  const index_t count = groups * planes.w.out * strips * planes.count;
  if (planes.lanes % kOut != 0 || !is_small(count) ||
      !is_aligned(call.x.data, kWidest, element, {px.plane, px.row, px.column}) ||
      !is_aligned(call.y.data, kWidest, element, {py.plane, py.row, py.column})) {
    return false;
  }
  LaneGeometry g;
  if (!make_plane_indices(call, planes, g.index)) return false;
  if (call.ask_only) return true;
  g.count = static_cast<std::uint32_t>(count);
  g.groups = Divider<std::uint32_t>(groups);
  g.columns = Divider<std::uint32_t>(planes.w.out);
  g.strips = Divider<std::uint32_t>(strips);
  g.in_rows = static_cast<int>(planes.h.in);
  g.in_columns = static_cast<int>(planes.w.in);
  g.out_rows = static_cast<int>(planes.h.out);
  g.first_row = static_cast<int>(planes.h.first);
  g.first_column = static_cast<int>(planes.w.first);
  g.row_step = static_cast<int>(planes.h.stride);
  g.column_step = static_cast<int>(planes.w.stride);
  g.counted_rows = Counted(planes.h, call.problem.pool.count_include_pad);
  g.counted_columns = Counted(planes.w, call.problem.pool.count_include_pad);
  g.x_plane = px.plane;
  g.y_plane = py.plane;
  g.x_row = px.row;
  g.y_row = py.row;
  g.x_column = px.column;
  g.y_column = py.column;
  g.divisor = call.problem.pool.divisor;
  g.index.aligned = are_groups_aligned(g.index, kOut, 1);
  const auto start = [&](auto kernel, auto reduction) {
    launch(kernel, count, kBlock, 0, call.stream, g, static_cast<const T*>(call.x.data), static_cast<T*>(call.y.data),
           reduction);
    return true;
  };
  const Extreme<T> extreme{call.problem.pool.op == Op::min};
  if (call.index != nullptr) return start(&lanes<Extreme<T>, T, K, S, kOut, true>, extreme);
  if (is_extremum(call.problem)) return start(&lanes<Extreme<T>, T, K, S, kOut, false>, extreme);
  return start(&lanes<Total<T>, T, K, S, kOut, false>, Total<T>{call.problem.pool.op == Op::avg});
}

template <class T>
bool launch_shape(const Forward& call, const Planes& planes) {
  if (planes.w.kernel == 2) return launch_lanes<T, 2, 0>(call, planes);
  if constexpr (sizeof(T) > 1) {
    if (planes.h.stride == 1) return launch_lanes<T, 3, 1>(call, planes);
    if (planes.h.stride == 2) return launch_lanes<T, 3, 2>(call, planes);
  }
  return launch_lanes<T, 3, 0>(call, planes);
}

// Whether places along an axis are ints.
bool is_short(const Axis& a) {
  const auto most = index_t{1} << 30;
  return a.in < most && a.out < most && a.stride < most && a.extent() < most && a.out * a.stride < most;
}

}  // namespace

bool lanes_forward(const Forward& call) {
  const Problem& p = call.problem;
  Planes planes;
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit) return false;
  if (!make_planes(p, call.x.pitch, call.y.pitch, planes) || planes.pooled != 2 || planes.lanes == 1 ||
      !are_plain(planes)) {
    return false;
  }
  if (planes.w.kernel != planes.h.kernel || planes.w.kernel < 2 || planes.w.kernel > 3) return false;
  if (!all_have_taps(planes.h) || !all_have_taps(planes.w) || !is_short(planes.h) || !is_short(planes.w)) return false;
  switch (p.dtype) {
    case Dtype::f32:
      return launch_shape<float>(call, planes);
    case Dtype::f16:
      return launch_shape<half>(call, planes);
    case Dtype::bf16:
      return launch_shape<bfloat16>(call, planes);
    case Dtype::u8:
      return launch_shape<std::uint8_t>(call, planes);
    default:
      return false;
  }
}

}  // namespace oriel::cuda
