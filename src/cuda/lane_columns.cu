#include "cuda/lane_columns.cuh"

#include <algorithm>

#include "cuda/device/launch.cuh"
#include "cuda/staged_call.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

constexpr index_t kSector = 32;  // bytes that memory moves at once

template <class R, class T, bool kShares>
bool launch_columns(const StagedGeometry& geometry, const void* x, void* y, const R& r, void* stream, bool ask_only) {
  constexpr index_t kOut = kColumnLanes<T>, kAccess = kOut * static_cast<index_t>(sizeof(T));
  LaneColumnGeometry c;
  StagedGeometry& g = c.staged = geometry;
  const Axis& w = g.axis[2].axis;
  if (g.lanes == 1 || g.lanes % kOut != 0 || g.pooled == 3 ||
      g.axis[1].axis.kernel >= most_tree_values(kColumnLevels) ||
      !is_aligned(x, kAccess, sizeof(T), {g.x.plane, g.x.row, g.x.column})) {
    return false;
  }
  const index_t all = g.lanes / kOut, least = std::max<index_t>(1, kSector / kAccess);
  index_t groups = std::min<index_t>(all, 32);
  StagedLayout layout;
  index_t(&out)[3] = layout.out;
  out[0] = out[1] = 1;
  out[2] = w.out;
  const auto blocks = [&] { return ceil_div(all, groups) * g.axis[1].axis.out * ceil_div(w.out, out[2]) * g.planes; };
  const auto fits = [&] {
    layout.place_tables(g, kShares ? sizeof(int) : 0);
    layout.folds =
        layout.place(layout.in[2] * groups * kOut * static_cast<index_t>(sizeof(typename StagedFold<R>::Folded)));
    return layout.bytes <= kWantedShared;
  };
  while (groups > least && (!fits() || blocks() < kWantedTiles)) groups = ceil_div(groups, 2);
  while (!fits() && out[2] > 1) out[2] = ceil_div(out[2], 2);
  if (!fits() || !is_small(blocks())) return false;
  if (ask_only) return true;
  layout.set(g);
  c.chunks = Divider<std::uint32_t>(ceil_div(all, groups));
  c.groups = static_cast<int>(groups);
  c.all_groups = static_cast<int>(all);
  launch(&lane_columns<R, T, kShares>, blocks() * kStagedThreads, kStagedThreads,
         static_cast<std::size_t>(layout.bytes), stream, c, static_cast<const T*>(x), static_cast<T*>(y), r);
  return true;
}

}  // namespace

bool lane_columns_forward(const Forward& call) {
  StagedGeometry g;
  if (!staged_call(call, g)) return false;
  const Op op = call.problem.pool.op;
  bool done = false;
  visit(call.problem.dtype, [&]<class T>() {
    const auto start = [&](auto reduction) {
      return launch_columns<decltype(reduction), T, false>(g, call.x.data, call.y.data, reduction, call.stream,
                                                           call.ask_only);
    };
    done = is_extremum(call.problem) ? start(Extreme<T>{op == Op::min}) : start(Total<T>{op == Op::avg});
  });
  return done;
}

bool lane_columns_gradient(const Problem& problem, const ConstTensor& dy, const Tensor& dx, void* stream) {
  StagedGeometry g;
  if (!staged_call(problem, dy, dx, g)) return false;
  bool done = false;
  visit(problem.dtype, [&]<class T>() {
    if constexpr (is_floating_v<T>) {
      if (g.average) {
        done = launch_columns<Total<T>, T, true>(g, dy.data, dx.data, Total<T>{}, stream, false);
        return;
      }
    }
    done = launch_columns<Total<T>, T, false>(g, dy.data, dx.data, Total<T>{}, stream, false);
  });
  return done;
}

}  // namespace oriel::cuda
