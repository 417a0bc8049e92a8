#include "cuda/stream.cuh"

#include <algorithm>

#include "cuda/device/launch.cuh"
#include "cuda/rows.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

constexpr index_t kLongest = (1 << kLevels) - 1;
constexpr index_t kLeastTaps = 16;       // of a window: below it, loads cost less than barriers
constexpr int kShared = 100 * 1024;      // bytes of a block: two of them share a multiprocessor
constexpr index_t kWantedBlocks = 1024;  // before a plane is left whole

template <class R, class T>
bool launch_stream(const Forward& call, const Planes& planes, const R& reduction) {
  using A = typename R::A;
  StreamGeometry g;
  g.h = planes.h;
  g.w = planes.w;
  const int kh = static_cast<int>(g.h.kernel), kw = static_cast<int>(g.w.kernel);
  int bytes = 0;
  for (g.tile = 256; g.tile >= 32; g.tile /= 2) {
    const index_t columns = (g.tile - 1) * g.w.stride + kw;
    if (columns > 8 * kStreamThreads) continue;
    g.columns = static_cast<int>(columns);
    const int kept = R::kRowsFirst ? g.tile : g.columns;
    bytes = stream_elements(kh, kw, kept, g.columns) * static_cast<int>(sizeof(A));
    if (bytes <= kShared) break;
  }
  if (g.tile < 32) return false;
  const index_t tiles = (g.w.out - 1) / g.tile + 1;
  const index_t wanted = std::max<index_t>(1, kWantedBlocks / (tiles * planes.count));
  // A band reads kernel - 1 rows of the next one again: at least as many rows of its own.
  const index_t rows = std::max<index_t>((g.h.out - 1) / wanted + 1, 2 * kh / g.h.stride + 1);
  g.band = static_cast<int>(std::min<index_t>(rows, g.h.out));
  const index_t bands = (g.h.out - 1) / g.band + 1;
  const index_t blocks = tiles * bands * planes.count;
  if (!is_small(blocks)) return false;
  g.tiles = Divider<std::uint32_t>(tiles);
  g.bands = Divider<std::uint32_t>(bands);
  g.x_plane = planes.x.plane;
  g.y_plane = planes.y.plane;
  g.x_row = planes.x.row;
  g.y_row = planes.y.row;
  g.count_include_pad = call.problem.pool.count_include_pad;
  g.divisor = call.problem.pool.divisor;
  if (call.ask_only) return true;
  launch(&stream<R, T>, blocks * kStreamThreads, kStreamThreads, static_cast<std::size_t>(bytes), call.stream, g,
         static_cast<const T*>(call.x.data), static_cast<T*>(call.y.data), reduction);
  return true;
}

bool fits(const Forward& call, Planes& planes) {
  const Problem& p = call.problem;
  if (call.index != nullptr || p.pool.op == Op::lp || p.pool.nan == NanPolicy::omit) return false;
  if (!make_planes(p, call.x.pitch, call.y.pitch, planes) || planes.pooled == 3 || !are_plain(planes)) return false;
  if (planes.lanes != 1 || planes.x.column != 1 || planes.y.column != 1) return false;
  if (!all_have_taps(planes.h) || !all_have_taps(planes.w)) return false;
  const Axis &h = planes.h, &w = planes.w;
  const auto most = index_t{1} << 30;
  return h.kernel <= kLongest && w.kernel <= kLongest && h.kernel * w.kernel >= kLeastTaps && h.stride <= h.kernel &&
         w.stride <= w.kernel && h.in < most && w.in < most && h.first > -most && w.first > -most && h.out < most &&
         w.out < most;
}

bool start(const Forward& call, const Planes& planes) {
  const auto with = [&]<class T>() {
    if (is_extremum(call.problem)) return launch_stream<Extreme<T>, T>(call, planes, {call.problem.pool.op == Op::min});
    return launch_stream<Total<T>, T>(call, planes, {call.problem.pool.op == Op::avg});
  };
  switch (call.problem.dtype) {
    case Dtype::f64:
      return with.template operator()<double>();
    case Dtype::f32:
      return with.template operator()<float>();
    case Dtype::f16:
      return with.template operator()<half>();
    case Dtype::bf16:
      return with.template operator()<bfloat16>();
    case Dtype::u8:
      return planes.h.kernel * planes.w.kernel < (1 << 22) && with.template operator()<std::uint8_t>();
    default:
      return false;
  }
}

// Windows along an axis share inputs.
bool share_inputs(const Axis& a) { return a.stride < a.kernel && a.out > 1; }

}  // namespace

bool stream_forward(const Forward& call) {
  Planes planes;
  return fits(call, planes) && (share_inputs(planes.h) || share_inputs(planes.w)) && start(call, planes);
}

bool stream_any_forward(const Forward& call) {
  Planes planes;
  return fits(call, planes) && start(call, planes);
}

}  // namespace oriel::cuda
