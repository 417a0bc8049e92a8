// Kernel "staged": windows of any size, step and dilation, adaptive and global ones, along rows that are contiguous
// (NCHW, or NHWC with few channels), and gradients of their sums. A block brings what a tile of outputs looks at to
// shared memory, by reads of 16 bytes, and folds it there, one axis after the other.
#pragma once

#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "cuda/plane_indices.cuh"
#include "cuda/tree.cuh"

namespace oriel::cuda {

inline constexpr int kStagedThreads = 256;
/// Accesses of a thread that are under way together.
inline constexpr int kAhead = 4;

/// Where an output of a tile looks along an axis; the first input that the tile needs is number 0.
struct Taps {
  int place;       // of tap 0
  int begin, end;  // taps that exist
  int width;       // nominal taps
  int divisor;     // what an average counts
};

struct StagedAxis {
  Axis axis;   // that is folded: the pool's, or its adjoint
  Axis pool;   // the pool's own
  int kernel;  // of codes
  int dilation;
  Divider<std::uint32_t> spacing;
  Divider<std::uint32_t> tiles;
  int tile;         // outputs of a tile
  int table;        // bytes from the beginning of shared memory: Taps of a tile's outputs,
  int share_table;  // and what its inputs' shares are divided by
};

struct StagedGeometry {
  StagedAxis axis[3];  // depth, rows, columns
  int pooled = 2;      // the last of them are folded
  int units = 1;       // planes of a tile
  index_t planes = 0;
  int lanes = 1;     // elements at one place of a row
  int joined = 0;    // what lies without a gap between: 0 a row, 1 the rows of a tile, 2 its planes of rows, 3 all
  int elements = 0;  // bytes from the beginning of shared memory: staged elements, later the second axis' folds
  int folds = 0;     // and the first axis' folds
  PlanePitches x, y;
  bool count_include_pad = true;
  index_t divisor = 0;    // fixed; 0: none
  bool gradient = false;  // of sums: inputs are shares
  bool average = false;   // that are to be divided
  PlaneIndices index;
};

/// Quotients of numbers below 2^20, for a divisor that the host does not know.
class SmallDivider {
 public:
  __device__ __forceinline__ explicit SmallDivider(int divisor)
      : divisor_(divisor), inverse_(1.0F / static_cast<float>(divisor)) {}
  /// n becomes the quotient; returns the remainder. (n + 1/2) / d is 1 / 2d from any integer, farther than it is wrong.
  __device__ __forceinline__ int take(int& n) const {
    const int q = static_cast<int>((static_cast<float>(n) + 0.5F) * inverse_), rest = n - q * divisor_;
    n = q;
    return rest;
  }

 private:
  int divisor_;
  float inverse_;
};

/// What a block works on, along each axis: its outputs and the inputs that they look at.
struct StagedTile {
  Range out[3], in[3];
};

/// 16 bytes of a run of elements, the first of them number `at` of the run; those outside it are not there.
template <class T>
struct Piece {
  Pack<T, kLanes<T>> pack;
  int at;

  __device__ __forceinline__ void load(const T* run, int length, int number) {
    constexpr int kPack = kLanes<T>;
    const auto shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(run) / sizeof(T) % kPack);
    at = number * kPack - shift;
    if (at >= 0 && at + kPack <= length) {
      pack = load_pack<kPack>(run + at);
      return;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      if (at + i >= 0 && at + i < length) pack.at[i] = cuda::load(run + at + i);
    }
  }

  /// Lifted, to where the run begins in shared memory. `aligned`: that is a multiple of 16 bytes away from its start.
  template <class R, class A>
  __device__ __forceinline__ void put(const R& r, A* run, int begin, int length) const {
    constexpr int kPack = kLanes<T>, kPart = kPack < kLanes<A> ? kPack : kLanes<A>;
    if (at >= 0 && at + kPack <= length && (begin + at) % kPart == 0) {
#pragma unroll
      for (int i = 0; i < kPack; i += kPart) {
        Pack<A, kPart> part;
#pragma unroll
        for (int j = 0; j < kPart; ++j) part.at[j] = r.lift(pack.at[i + j]);
        *reinterpret_cast<Pack<A, kPart>*>(run + begin + at + i) = part;
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      if (at + i >= 0 && at + i < length) run[begin + at + i] = r.lift(pack.at[i]);
    }
  }
};

/// Brings a tile's inputs to `to`, densely. `x`: its first one; r.lift() makes an A of it.
template <class R, class T, class A>
__device__ __forceinline__ void stage(const StagedGeometry& g, const StagedTile& tile, int units, const T* x, A* to,
                                      const R& r) {
  const int row = static_cast<int>(tile.in[2].size()) * g.lanes;
  const int rows = g.joined >= 1 ? 1 : static_cast<int>(tile.in[1].size());
  const int depths = g.joined >= 2 ? 1 : static_cast<int>(tile.in[0].size());
  const int runs = rows * depths * (g.joined >= 3 ? 1 : units);
  if (runs == 0 || row == 0) return;  // of a gradient: places that no window reads
  const int length = row * static_cast<int>(tile.in[1].size() * tile.in[0].size()) * units / runs;
  const int pieces = length / kLanes<T> + 2;  // a run may begin and end within one
  const SmallDivider by_pieces(pieces), by_rows(rows), by_depths(depths);
  for (int begin = static_cast<int>(threadIdx.x); begin < pieces * runs; begin += kAhead * kStagedThreads) {
    Piece<T> piece[kAhead];
    int run[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      run[i] = begin + i * kStagedThreads;
      if (run[i] >= pieces * runs) continue;
      const int number = by_pieces.take(run[i]);
      int rest = run[i];
      const int h = by_rows.take(rest), d = by_depths.take(rest);
      piece[i].load(x + rest * g.x.plane + d * g.x.depth + h * g.x.row, length, number);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (begin + i * kStagedThreads < pieces * runs) piece[i].put(r, to, run[i] * length, length);
    }
  }
}

/// A maximum and the number of its tap among those that were folded so far.
template <class A>
struct Spot {
  A value;
  int code;
};

/// How a reduction folds the taps of one output along one axis. `at`: input 0, `step`: the next one.
template <class R>
struct StagedFold {
  using A = typename R::A;
  using Folded = A;
  static __device__ __forceinline__ A along(const R& r, const StagedAxis& axis, const Taps& taps, const A* at,
                                            int step) {
    if (taps.begin == 0 && taps.end == taps.width && axis.spacing.divisor == 1) {
      const A* first = at + taps.place * step;
      step *= axis.dilation;
      return fold_tree(r, taps.width, [&](int t) { return first[t * step]; });
    }
    return fold_tree(r, taps.width, [&](int t) {
      const int place = taps.place + t * axis.dilation;
      if (t < taps.begin || t >= taps.end || place < 0) return r.none();
      auto number = static_cast<std::uint32_t>(place);
      return axis.spacing.take(number) == 0 ? at[static_cast<int>(number) * step] : r.none();
    });
  }
};
template <class T>
struct StagedFold<Extreme<T>> {
  using R = Extreme<T>;
  using A = typename R::A;
  using Folded = Spot<A>;
  static __device__ __forceinline__ Folded along(const R& r, const StagedAxis& axis, const Taps& taps, const A* at,
                                                 int step) {
    Folded best{r.none(), -1};
    for (int t = taps.begin; t < taps.end; ++t) {
      const A value = at[(taps.place + t * axis.dilation) * step];
      if (best.code < 0 || beats(value, best.value)) best = {value, t};
    }
    return best;
  }
  static __device__ __forceinline__ Folded along(const R& r, const StagedAxis& axis, const Taps& taps, const Folded* at,
                                                 int step) {
    Folded best{r.none(), -1};
    for (int t = taps.begin; t < taps.end; ++t) {
      const Folded spot = at[(taps.place + t * axis.dilation) * step];
      const int code = spot.code * axis.kernel + t;
      // Rows come column by column here: of equals the first in row-major order stays (S4), of NaN the last (S3).
      const bool wins = spot.value > best.value || (spot.value == best.value && code < best.code) ||
                        (is_nan(spot.value) && (!is_nan(best.value) || code > best.code));
      if (best.code < 0 || wins) best = {spot.value, code};
    }
    return best;
  }
};

/// Folds along one axis: [outer][inputs][inner] becomes [outer][outputs][inner], which `emit` takes.
template <class R, class From, class Emit>
__device__ __forceinline__ void fold_axis(const R& r, const StagedAxis& axis, const From* from, int outer, int inputs,
                                          int outputs, int inner, Emit emit) {
  const Taps* taps = shared_at<const Taps>(axis.table);
  const SmallDivider by_inner(inner), by_outputs(outputs);
  for (int n = static_cast<int>(threadIdx.x); n < outer * outputs * inner; n += kStagedThreads) {
    int rest = n;
    const int i = by_inner.take(rest), o = by_outputs.take(rest);
    emit(n, rest, o, i, StagedFold<R>::along(r, axis, taps[o], from + rest * inputs * inner + i, inner));
  }
  __syncthreads();
}

/// Puts where block number `number` works at the beginning of shared memory, and the tables behind it. All threads call
/// it. Not inlined: 128-bit divisions of adaptive axes are calls, around which registers would go to memory.
__device__ __attribute__((noinline)) inline void find_tile(const StagedGeometry& g, std::uint32_t number) {
  auto* const tile = shared_at<StagedTile>(0);
  for (int a = 2; a >= 0; --a) {
    const StagedAxis& s = g.axis[a];
    const index_t first = static_cast<index_t>(s.tiles.take(number)) * s.tile;
    if (threadIdx.x != static_cast<unsigned>(a)) continue;
    tile->out[a] = {first, first + s.tile < s.axis.out ? first + s.tile : s.axis.out};
    tile->in[a] = s.axis.needs(tile->out[a]);
  }
  __syncthreads();
  for (int a = 0; a < 3; ++a) {
    const StagedAxis& s = g.axis[a];
    const Range in = tile->in[a], out = tile->out[a];
    auto* const taps = shared_at<Taps>(s.table);
    for (int i = static_cast<int>(threadIdx.x); i < out.size(); i += kStagedThreads) {
      const index_t o = out.begin + i;
      const Range range = s.axis.taps(o);
      taps[i] = {static_cast<int>(s.axis.start(o) - in.begin * s.axis.spacing), static_cast<int>(range.begin),
                 static_cast<int>(range.end), static_cast<int>(s.axis.width(o)),
                 g.gradient ? 1 : static_cast<int>(s.axis.divisor(o, g.count_include_pad))};
    }
    auto* const shares = shared_at<int>(s.share_table);
    for (int i = static_cast<int>(threadIdx.x); g.average && i < in.size(); i += kStagedThreads) {
      shares[i] = static_cast<int>(s.pool.divisor(in.begin + i, g.count_include_pad));
    }
  }
}

/// The tile of a block, after find_tile; `number` becomes that of its planes.
__device__ __forceinline__ StagedTile found_tile(const StagedGeometry& g, std::uint32_t& number) {
#pragma unroll
  for (int a = 2; a >= 0; --a) g.axis[a].tiles.take(number);
  return *shared_at<const StagedTile>(0);
}

/// Turns staged gradients of an average into shares: each divided by what its window counts.
template <class T, class A>
__device__ __forceinline__ void make_staged_shares(const StagedGeometry& g, const StagedTile& tile, int units, A* at) {
  const auto divisor = [&](int a, int i) { return shared_at<const int>(g.axis[a].share_table)[i]; };
  int size[3], count = units * g.lanes;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    size[a] = static_cast<int>(tile.in[a].size());
    count *= size[a];
  }
  const SmallDivider by_lanes(g.lanes), by_column(size[2]), by_row(size[1]), by_depth(size[0]);
  for (int n = static_cast<int>(threadIdx.x); n < count; n += kStagedThreads) {
    int rest = n;
    by_lanes.take(rest);
    const int c = by_column.take(rest), h = by_row.take(rest), d = by_depth.take(rest);
    const index_t by = g.divisor > 0 ? g.divisor : static_cast<index_t>(divisor(0, d)) * divisor(1, h) * divisor(2, c);
    at[n] = by <= 0 ? A{0} : divide(at[n], by);
  }
  __syncthreads();
}

/// Stores one output of a tile.
template <class R, class T>
struct StagedStore {
  const StagedGeometry& g;
  const StagedTile& tile;
  index_t plane;
  T* y;
  const R& r;

  template <class Folded>
  __device__ __forceinline__ void operator()(int row, int o, int lane, const Folded& folded) const {
    const SmallDivider by_row(static_cast<int>(tile.out[1].size())), by_depth(static_cast<int>(tile.out[0].size()));
    const int h = by_row.take(row), d = by_depth.take(row);  // `row` is left with the unit
    const index_t along[3] = {tile.out[0].begin + d, tile.out[1].begin + h, tile.out[2].begin + o};
    const index_t unit = plane + row;
    T* to = y + unit * g.y.plane + along[0] * g.y.depth + along[1] * g.y.row + along[2] * g.y.column + lane;
    if constexpr (R::kRowsFirst) {
      if (y != nullptr) store(to, r.lower(folded.value, 1));
      if (g.index.kind == IndexKind::none) return;
      int rest = folded.code;
      const int kw = g.axis[2].kernel, kh = g.axis[1].kernel;
      const int tw = rest % kw, th = rest / kw % kh, td = rest / kw / kh;
      const auto input = [&](int a, int i, int t) {
        return tile.in[a].begin + shared_at<const Taps>(g.axis[a].table)[i].place + t * g.axis[a].dilation;
      };
      const index_t place[3] = {input(0, d, td), input(1, h, th), input(2, o, tw)};
      store_plane_index(g.index, unit, along, lane, folded.code, place);
    } else if (g.gradient) {
      store(to, r.lower(r.combine(folded, 0), 1));  // a zero is +0
    } else {
      const auto counted = [&](int a, int i) {
        return static_cast<index_t>(shared_at<const Taps>(g.axis[a].table)[i].divisor);
      };
      store(to, r.lower(folded, g.divisor > 0 ? g.divisor : counted(0, d) * counted(1, h) * counted(2, o)));
    }
  }
};

template <class R, class T>
__global__ void __launch_bounds__(kStagedThreads, 1)
    staged(const __grid_constant__ StagedGeometry g, const T* __restrict__ x, T* __restrict__ y, const R r) {
  using A = typename R::A;
  using Folded = typename StagedFold<R>::Folded;
  A* const elements = shared_at<A>(g.elements);
  Folded* const first = shared_at<Folded>(g.folds);
  Folded* const second = shared_at<Folded>(g.elements);
  find_tile(g, blockIdx.x);
  std::uint32_t number = blockIdx.x;
  const StagedTile tile = found_tile(g, number);
  const index_t plane = static_cast<index_t>(number) * g.units;
  const int units = static_cast<int>(plane + g.units < g.planes ? g.units : g.planes - plane);
  stage(g, tile, units,
        x + plane * g.x.plane + tile.in[0].begin * g.x.depth + tile.in[1].begin * g.x.row + tile.in[2].begin * g.lanes,
        elements, r);
  __syncthreads();
  if constexpr (!R::kRowsFirst && is_floating_v<T>) {
    if (g.gradient && g.average) make_staged_shares<T>(g, tile, units, elements);
  }
  int in[3], out[3];
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    in[a] = static_cast<int>(tile.in[a].size());
    out[a] = static_cast<int>(tile.out[a].size());
  }
  const int row = in[2] * g.lanes;
  const StagedStore<R, T> finish{g, tile, plane, y, r};
  const auto end = [&](int, int rest, int o, int lane, const Folded& v) { finish(rest, o, lane, v); };
  const auto keep = [](Folded* to) { return [to](int n, int, int, int, const Folded& v) { to[n] = v; }; };
  if (g.pooled == 1) {
    fold_axis(r, g.axis[2], elements, units, in[2], out[2], g.lanes, end);
    return;
  }
  if (g.pooled == 2) {
    fold_axis(r, g.axis[1], elements, units, in[1], out[1], row, keep(first));
    fold_axis(r, g.axis[2], first, units * out[1], in[2], out[2], g.lanes, end);
    return;
  }
  fold_axis(r, g.axis[0], elements, units, in[0], out[0], in[1] * row, keep(first));
  fold_axis(r, g.axis[1], first, units * out[0], in[1], out[1], row, keep(second));
  fold_axis(r, g.axis[2], second, units * out[0] * out[1], in[2], out[2], g.lanes, end);
}

}  // namespace oriel::cuda
