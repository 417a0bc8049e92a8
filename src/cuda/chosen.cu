#include "cuda/chosen.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/staged_call.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

// Gradients and sums of one size, places.
void lay_out(StagedLayout& tile, const StagedGeometry& g, index_t element, index_t place) {
  tile.place_tables(g, sizeof(ChosenWindow));
  const index_t outputs = tile.units * tile.in[0] * tile.in[1] * tile.in[2] * g.lanes;
  tile.elements = tile.place(outputs * element);
  tile.folds = tile.place(outputs * place);
  tile.sums = tile.place(tile.units * tile.out[0] * tile.out[1] * tile.out[2] * g.lanes * element);
}

// Whether numbers of a plane's places are ints, and those of the pool's planes.
bool has_small_planes(const Problem& p, const StagedGeometry& g) {
  index_t places = 1;
  for (const StagedAxis& s : g.axis) {
    if (places > (index_t{1} << 30) / s.axis.out) return false;
    places *= s.axis.out;
  }
  return p.pooled == g.pooled;
}

template <class T, class I>
bool launch_chosen(const StagedGeometry& geometry, const ConstTensor& dy, const ConstTensor& index, const Tensor& dx,
                   void* stream) {
  using A = typename Total<T>::A;
  ChosenGeometry c{.staged = geometry, .index = index.data};
  StagedGeometry& g = c.staged;
  StagedLayout tile;
  if (!choose_tile(g, tile, &lay_out, sizeof(A), sizeof(int))) return false;
  c.sums = static_cast<int>(tile.sums);
  launch(&chosen<T, I>, tile.count(g) * kStagedThreads, kStagedThreads, static_cast<std::size_t>(tile.bytes), stream, c,
         static_cast<const T*>(dy.data), static_cast<T*>(dx.data));
  return true;
}

}  // namespace

bool chosen_gradient(const Problem& p, const ConstTensor& dy, const ConstTensor& index, IndexKind kind,
                     const Tensor& dx, void* stream) {
  StagedGeometry g;
  if (p.pool.op == Op::lp || kind == IndexKind::tensor || !(index.pitch == dy.pitch)) return false;
  if (!staged_call(p, dy, dx, g) || g.x.column != g.lanes || !has_small_planes(p, g)) return false;
  g.index.kind = kind;
  bool done = false;
  visit(p.dtype, [&]<class T>() {
    const auto start = [&]<class I>() { return launch_chosen<T, I>(g, dy, index, dx, stream); };
    done = kind == IndexKind::code8    ? start.template operator()<std::uint8_t>()
           : kind == IndexKind::code32 ? start.template operator()<std::int32_t>()
                                       : start.template operator()<std::int64_t>();
  });
  return done;
}

}  // namespace oriel::cuda
