#include "cuda/direct.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

// As measured on an H200: windows of fewer taps, and steps of one over large planes, are faster by kernels that bring
// what windows share to shared memory; small planes give those too few threads.
constexpr index_t kLeastTaps = 16;
constexpr index_t kMostTaps = 64;
constexpr index_t kMostTapsOfSmallPlanes = 256;
constexpr index_t kSmallPlane = 4096;

bool is_int(index_t n) { return n > -(index_t{1} << 30) && n < (index_t{1} << 30); }

// Whether places along an axis are ints, every window has a tap, and the trees of its taps are short.
bool fits(const Axis& a) {
  return !a.adaptive && a.spacing == 1 && a.kernel <= kMostDirectTaps && is_int(a.in) && is_int(a.extent()) &&
         is_int(a.stride) && is_int(a.first) && is_int(a.out) && is_int(a.out * a.stride + a.extent()) &&
         is_int(a.counted.begin) && is_int(a.counted.end) && all_have_taps(a);
}

bool is_worth_it(const Problem& p) {
  const index_t taps = p.taps();
  if (taps < kLeastTaps) return false;
  index_t plane = 1, steps = 1;
  for (int a = 0; a < p.pooled; ++a) {
    const Axis& axis = p.axis[static_cast<std::size_t>(a)];
    plane *= axis.out;
    steps *= axis.out > 1 ? axis.stride : axis.kernel;  // a single window shares nothing
  }
  if (steps >= 4) return taps <= kMostTaps;
  return is_extremum(p) && taps <= kMostTapsOfSmallPlanes && plane <= kSmallPlane;
}

DirectGeometry make_geometry(const Forward& call) {
  const Problem& p = call.problem;
  DirectGeometry g;
  g.walk = make_walk<std::uint32_t>(
      {p, p.output_shape, call.y.pitch, &call.x.pitch, call.index != nullptr ? &call.index->pitch : nullptr, p.shape});
  g.divisor = p.pool.divisor;
  for (int i = 0; i < p.pooled; ++i) {
    const Axis& a = p.axis[static_cast<std::size_t>(i)];
    const int from_last = is_extremum(p) ? p.pooled - 1 - i : i;
    g.axis[kDirectAxes - 1 - from_last] = {
        .in = static_cast<int>(a.in),
        .kernel = static_cast<int>(a.kernel),
        .stride = static_cast<int>(a.stride),
        .first = static_cast<int>(a.first),
        .dilation = static_cast<int>(a.dilation),
        .counted_begin = p.pool.count_include_pad ? static_cast<int>(a.counted.begin) : 0,
        .counted_end = static_cast<int>(p.pool.count_include_pad ? a.counted.end : a.in),
        .pooled = i,
        .pitch = call.x.pitch[p.axes[static_cast<std::size_t>(i)]]};
  }
  if (call.index != nullptr) {
    g.windows = make_windows(p, call.x.pitch, false);
    g.indices = make_indices(p, call.index->data, call.kind);
  }
  return g;
}

template <class T>
void launch_direct(const Forward& call) {
  const DirectGeometry g = make_geometry(call);
  const auto start = [&](auto kernel, auto reduction) {
    launch(kernel, static_cast<index_t>(g.walk.count), kBlock, 0, call.stream, g, static_cast<const T*>(call.x.data),
           static_cast<T*>(call.y.data), reduction);
  };
  const Extreme<T> extreme{call.problem.pool.op == Op::min};
  if (call.index != nullptr) return start(&direct_extremum<Extreme<T>, T, true>, extreme);
  if (is_extremum(call.problem)) return start(&direct_extremum<Extreme<T>, T, false>, extreme);
  start(&direct_sum<Total<T>, T>, Total<T>{call.problem.pool.op == Op::avg});
}

}  // namespace

bool direct_forward(const Forward& call) {
  const Problem& p = call.problem;
  if (p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit || p.pooled < 1 || p.pooled > kDirectAxes) return false;
  if (!is_small(element_count(p.output_shape)) || !is_worth_it(p)) return false;
  for (int a = 0; a < p.pooled; ++a) {
    if (!fits(p.axis[static_cast<std::size_t>(a)])) return false;
  }
  if (!call.ask_only) visit(p.dtype, [&]<class T>() { launch_direct<T>(call); });
  return true;
}

}  // namespace oriel::cuda
