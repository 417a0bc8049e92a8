#include "cuda/staged_call.h"

#include <algorithm>

#include "cuda/device/launch.cuh"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

// Elements of one size, folds of another.
void lay_out(StagedLayout& tile, const StagedGeometry& g, index_t element, index_t folded) {
  tile.place_tables(g, g.gradient && g.average ? sizeof(int) : 0);
  const auto& [od, oh, ow] = tile.out;
  const index_t row = tile.units * tile.in[2] * g.lanes;
  const index_t first = g.pooled == 3 ? od * tile.in[1] * row : g.pooled == 2 ? oh * row : 0;
  const index_t second = g.pooled == 3 ? od * oh * row : 0;
  tile.elements = tile.place(std::max(tile.in[0] * tile.in[1] * row * element, second * folded));
  tile.folds = tile.place(first * folded);
}

template <class R, class T>
bool launch_staged(StagedGeometry& g, const void* x, void* y, const R& r, void* stream, bool ask_only) {
  StagedLayout tile;
  if (!choose_tile(g, tile, &lay_out, sizeof(typename R::A), sizeof(typename StagedFold<R>::Folded))) return false;
  if (ask_only) return true;
  launch(&staged<R, T>, tile.count(g) * kStagedThreads, kStagedThreads, static_cast<std::size_t>(tile.bytes), stream, g,
         static_cast<const T*>(x), static_cast<T*>(y), r);
  return true;
}

}  // namespace

bool staged_forward(const Forward& call) {
  StagedGeometry g;
  if (!staged_call(call, g) || g.x.column != g.lanes) return false;
  const Op op = call.problem.pool.op;
  bool done = false;
  visit(call.problem.dtype, [&]<class T>() {
    const auto start = [&](auto reduction) {
      return launch_staged<decltype(reduction), T>(g, call.x.data, call.y.data, reduction, call.stream, call.ask_only);
    };
    done = is_extremum(call.problem) ? start(Extreme<T>{op == Op::min}) : start(Total<T>{op == Op::avg});
  });
  return done;
}

bool staged_gradient(const Problem& problem, const ConstTensor& dy, const Tensor& dx, void* stream) {
  StagedGeometry g;
  if (!staged_call(problem, dy, dx, g) || g.x.column != g.lanes) return false;
  bool done = false;
  visit(problem.dtype,
        [&]<class T>() { done = launch_staged<Total<T>, T>(g, dy.data, dx.data, Total<T>{}, stream, false); });
  return done;
}

}  // namespace oriel::cuda
