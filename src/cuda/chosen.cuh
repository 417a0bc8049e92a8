// Kernel "chosen": gradients of extrema from indices, of windows of any size, step and dilation, adaptive and global
// ones, along rows that are contiguous. A block brings what a tile of dx may get, gradients and the places that they go
// to, to shared memory; a thread adds up a few columns of a row of the tile there, over the outputs in ascending order.
#pragma once

#include "cuda/staged.cuh"

namespace oriel::cuda {

/// Columns of dx of one thread: each output that may reach them is looked at once for all of them.
inline constexpr int kChosenColumns = 8;

struct ChosenGeometry {
  /// Of the adjoint: its inputs are dy, its outputs dx; `elements` holds gradients, `folds` the places they go to.
  StagedGeometry staged;
  const void* index = nullptr;
  int sums = 0;  // of dx: bytes from the beginning of shared memory
};

/// The window of an output along an axis of the pool.
struct ChosenWindow {
  int start, width;
};

/// Indices as they are stored; what is no int is no index.
struct AsInt {
  template <class T>
  __device__ __forceinline__ int lift(T v) const {
    if constexpr (sizeof(T) == 8)
      return v >= 0 && v <= INT32_MAX ? static_cast<int>(v) : -1;
    else
      return static_cast<int>(v);
  }
};

/// The outputs that look at the tile's places, in the tables of Taps: begin and end, from the tile's first output on.
/// And the windows of those outputs, in the tables of shares.
__device__ __attribute__((noinline)) inline void find_windows(const StagedGeometry& g) {  // as find_tile, after it
  const StagedTile& tile = *shared_at<const StagedTile>(0);
  for (int a = 0; a < 3; ++a) {
    const StagedAxis& s = g.axis[a];
    auto* const taps = shared_at<Taps>(s.table);
    for (int i = static_cast<int>(threadIdx.x); i < tile.out[a].size(); i += kStagedThreads) {
      const Range feeds = s.pool.feeds(tile.out[a].begin + i);
      taps[i].begin = static_cast<int>(feeds.begin - tile.in[a].begin);
      taps[i].end = static_cast<int>(feeds.end - tile.in[a].begin);
    }
    auto* const windows = shared_at<ChosenWindow>(s.share_table);
    for (int i = static_cast<int>(threadIdx.x); i < tile.in[a].size(); i += kStagedThreads) {
      const index_t o = tile.in[a].begin + i;
      windows[i] = {static_cast<int>(s.pool.start(o)), static_cast<int>(s.pool.width(o))};
    }
  }
}

/// The staged indices become numbers of places in their plane; -1 for those that name none of their window's.
__device__ __forceinline__ void name_places(const StagedGeometry& g, const StagedTile& tile, int units, int* at) {
  int size[3], count = units * g.lanes;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    size[a] = static_cast<int>(tile.in[a].size());
    count *= size[a];
  }
  const bool by_place = g.index.kind == IndexKind::plane;
  const SmallDivider by_lanes(g.lanes), by_column(size[2]), by_row(size[1]), by_depth(size[0]);
  for (int n = static_cast<int>(threadIdx.x); n < count; n += kStagedThreads) {
    int rest = n;
    by_lanes.take(rest);
    int o[3];
    o[2] = by_column.take(rest);
    o[1] = by_row.take(rest);
    o[0] = by_depth.take(rest);
    int code = at[n], place = 0, step = 1;
    bool exists = code >= 0;
#pragma unroll
    for (int a = 2; a >= 0; --a) {
      const StagedAxis& s = g.axis[a];
      const ChosenWindow window = shared_at<const ChosenWindow>(s.share_table)[o[a]];
      const int inputs = static_cast<int>(s.axis.out), parts = by_place ? inputs : s.kernel;
      const int part = a > 0 ? code % parts : code;
      code /= parts;
      const int distance = by_place ? part - window.start : part * s.dilation, i = window.start + distance;
      exists = exists && i >= 0 && i < inputs && distance >= 0 && distance % s.dilation == 0 &&
               distance / s.dilation < window.width;
      place += i * step;
      step *= inputs;
    }
    at[n] = exists ? place : -1;
  }
  __syncthreads();
}

/// Adds to `columns` sums of dx, `lanes` apart, the first of which is at place `here` of its plane, what the outputs
/// from `begin` to `end` of a row send there, in ascending order.
template <class R, class A>
__device__ __forceinline__ void add_chosen(const R& total, const A* gradients, const int* places, int begin, int end,
                                           int lanes, int here, int columns, A* sum) {
  for (int o = begin; o < end; ++o) {
    const int distance = places[o * lanes] - here;
    if (distance >= 0 && distance < columns)
      sum[distance * lanes] = total.combine(sum[distance * lanes], gradients[o * lanes]);
  }
}

/// Stores the tile's sums, `rows` rows of them, from `to` on; `out` are the tile's extents.
template <class R, class A, class T>
__device__ __forceinline__ void store_sums(const StagedGeometry& g, const R& total, const A* sums, int rows,
                                           const int (&out)[3], T* to) {
  const int row = out[2] * g.lanes;
  const SmallDivider by_elements(row), by_lanes(g.lanes), by_row(out[1]), by_depth(out[0]);
  for (int n = static_cast<int>(threadIdx.x); n < rows * row; n += kStagedThreads) {
    int unit = n, w = by_elements.take(unit);
    const int h = by_row.take(unit), d = by_depth.take(unit), lane = by_lanes.take(w);
    store(to + unit * g.y.plane + d * g.y.depth + h * g.y.row + w * g.y.column + lane, total.lower(sums[n], 1));
  }
}

/// dx of a maximum or minimum. I: what indices are stored as.
template <class T, class I>
__global__ void __launch_bounds__(kStagedThreads)
    chosen(const __grid_constant__ ChosenGeometry c, const T* __restrict__ dy, T* __restrict__ dx) {
  const Total<T> total{};
  using A = typename Total<T>::A;
  const StagedGeometry& g = c.staged;
  A* const gradients = shared_at<A>(g.elements);
  int* const places = shared_at<int>(g.folds);
  A* const sums = shared_at<A>(c.sums);
  find_tile(g, blockIdx.x);
  find_windows(g);
  std::uint32_t number = blockIdx.x;
  const StagedTile tile = found_tile(g, number);
  const index_t plane = static_cast<index_t>(number) * g.units;
  const int units = static_cast<int>(plane + g.units < g.planes ? g.units : g.planes - plane);
  const index_t first =
      plane * g.x.plane + tile.in[0].begin * g.x.depth + tile.in[1].begin * g.x.row + tile.in[2].begin * g.lanes;
  stage(g, tile, units, dy + first, gradients, total);
  stage(g, tile, units, static_cast<const I*>(c.index) + first, places, AsInt{});
  int in[3], out[3];
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    in[a] = static_cast<int>(tile.in[a].size());
    out[a] = static_cast<int>(tile.out[a].size());
  }
  const int row = out[2] * g.lanes, rows = units * out[0] * out[1];
  for (int n = static_cast<int>(threadIdx.x); n < rows * row; n += kStagedThreads) sums[n] = A{0};
  __syncthreads();
  name_places(g, tile, units, places);

  const int segments = (out[2] + kChosenColumns - 1) / kChosenColumns;
  const SmallDivider by_lanes(g.lanes), by_segment(segments), by_row(out[1]), by_depth(out[0]);
  const auto height = static_cast<int>(g.axis[1].axis.out), width = static_cast<int>(g.axis[2].axis.out);
  for (int n = static_cast<int>(threadIdx.x); n < rows * segments * g.lanes; n += kStagedThreads) {
    int unit = n;
    const int lane = by_lanes.take(unit), column = by_segment.take(unit) * kChosenColumns;
    const int of_row = unit, h = by_row.take(unit), d = by_depth.take(unit);
    const int columns = min(kChosenColumns, out[2] - column);
    const Taps* const taps = shared_at<const Taps>(g.axis[2].table) + column;
    const Taps by_d = shared_at<const Taps>(g.axis[0].table)[d], by_h = shared_at<const Taps>(g.axis[1].table)[h];
    const int begin = taps[0].begin, end = taps[columns - 1].end;
    const int here =
        ((static_cast<int>(tile.out[0].begin) + d) * height + static_cast<int>(tile.out[1].begin) + h) * width +
        static_cast<int>(tile.out[2].begin) + column;
    A* const sum = sums + of_row * row + column * g.lanes + lane;
    for (int od = by_d.begin; od < by_d.end; ++od) {
      for (int oh = by_h.begin; oh < by_h.end; ++oh) {
        const int from = (((unit * in[0] + od) * in[1] + oh) * in[2]) * g.lanes + lane;
        add_chosen(total, gradients + from, places + from, begin, end, g.lanes, here, columns, sum);
      }
    }
  }
  __syncthreads();
  store_sums(g, total, sums, rows, out,
             dx + plane * g.y.plane + tile.out[0].begin * g.y.depth + tile.out[1].begin * g.y.row +
                 tile.out[2].begin * g.y.column);
}

}  // namespace oriel::cuda
