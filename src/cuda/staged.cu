#include "cuda/staged_call.h"

#include <algorithm>

#include "cuda/launch.cuh"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

constexpr index_t kMost = 96 * 1024;  // bytes of a block, where a single output needs more than kWantedShared
constexpr index_t kRowWeight = 8;     // rows are cut last: runs of memory stay long

// Sizes of a tile.
struct Tile : StagedLayout {
  index_t out[3], units = 1;

  void lay_out(const StagedGeometry& g, index_t element, index_t folded) {
    place_tables(g, out);
    index_t in[3];
    for (int a = 0; a < 3; ++a) in[a] = span_of(g.axis[a].axis, out[a]);
    const index_t row = units * in[2] * g.lanes;
    const index_t first = g.pooled == 3 ? out[0] * in[1] * row : g.pooled == 2 ? out[1] * row : 0;
    const index_t second = g.pooled == 3 ? out[0] * out[1] * row : 0;
    elements = place(std::max(in[0] * in[1] * row * element, second * folded));
    folds = place(first * folded);
  }

  index_t count(const StagedGeometry& g) const {
    index_t n = ceil_div(g.planes, units);
    for (int a = 0; a < 3; ++a) n *= ceil_div(g.axis[a].axis.out, out[a]);
    return n;
  }

  // Halves the tile along its longest axis; false when it is one output.
  bool halve() {
    const index_t weight[] = {out[0], out[1], out[2] > kRowWeight ? out[2] / kRowWeight : 0};
    const auto longest = std::max_element(weight, weight + 3);
    const index_t a = *longest > 1 ? longest - weight : out[2] > 1 ? 2 : 0;
    if (out[a] == 1) return false;
    out[a] = ceil_div(out[a], 2);
    return true;
  }
};

// Whether a tile holds all of an axis, the inputs that no window reads too.
bool holds_all(const StagedAxis& s) {
  return s.tile == s.axis.out && s.axis.needs({0, s.axis.out}).size() == s.axis.in;
}

int joined(const StagedGeometry& g) {
  const Axis &d = g.axis[0].axis, &h = g.axis[1].axis, &w = g.axis[2].axis;
  const index_t row = w.in * g.lanes;
  if (!holds_all(g.axis[2]) || (h.in > 1 && g.x.row != row)) return 0;
  if (!holds_all(g.axis[1]) || (d.in > 1 && g.x.depth != h.in * row)) return 1;
  return holds_all(g.axis[0]) && g.x.plane == d.in * h.in * row ? 3 : 2;
}

// Chooses the tile. False where a single output's window does not fit.
bool choose_tile(StagedGeometry& g, index_t element, index_t folded, Tile& tile) {
  for (int a = 0; a < 3; ++a) tile.out[a] = g.axis[a].axis.out;
  const auto fits = [&](index_t most) {
    tile.lay_out(g, element, folded);
    return tile.bytes <= most;
  };
  while (!fits(kWantedShared) && tile.halve()) {
  }
  if (!fits(kMost)) return false;
  // More tiles, while what two of them share is a small part.
  const Axis& h = g.axis[1].axis;
  const index_t shared = 2 * span_of(h, 1) - span_of(h, 2);
  while (tile.count(g) < kWantedTiles && tile.out[1] > 8 && span_of(h, tile.out[1] / 2) > 4 * shared && tile.halve()) {
  }
  for (int a = 0; a < 3; ++a) g.axis[a].tile = static_cast<int>(tile.out[a]);
  g.joined = joined(g);
  if (g.joined == 3) {  // planes that are one run of memory
    tile.lay_out(g, element, folded);
    tile.units = std::clamp<index_t>(std::min(kWantedShared / 2 / tile.bytes, g.planes / kWantedTiles), 1, 256);
  }
  tile.lay_out(g, element, folded);
  return true;
}

template <class R, class T>
bool launch_staged(StagedGeometry& g, const void* x, void* y, const R& r, void* stream, bool ask_only) {
  Tile tile;
  if (!choose_tile(g, sizeof(typename R::A), sizeof(typename StagedFold<R>::Folded), tile)) return false;
  const index_t count = tile.count(g);
  if (!is_small(count)) return false;
  if (ask_only) return true;
  g.units = static_cast<int>(tile.units);
  tile.set(g);
  for (int a = 0; a < 3; ++a) {
    g.axis[a].tiles = Divider<std::uint32_t>(ceil_div(g.axis[a].axis.out, tile.out[a]));
  }
  launch(&staged<R, T>, count * kStagedThreads, kStagedThreads, static_cast<std::size_t>(tile.bytes), stream, g,
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
