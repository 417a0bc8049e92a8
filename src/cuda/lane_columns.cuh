// Kernel "lane columns": windows of any size, step and dilation, adaptive and global ones, over channels that stand
// beside each other (NHWC), and gradients of their sums. A block makes a row of outputs of some channels: it folds each
// column of inputs as they come, 16 bytes of channels at once, then along the row from shared memory.
#pragma once

#include "cuda/staged.cuh"

namespace oriel::cuda {

/// Levels of the trees of columns: they are kept for every lane.
inline constexpr int kColumnLevels = 4;
/// Channels of one access.
template <class T>
inline constexpr int kColumnLanes = kLanes<T> < 8 ? kLanes<T> : 8;

struct LaneColumnGeometry {
  StagedGeometry staged;  // its `folds` hold the columns
  Divider<std::uint32_t> chunks;
  int groups = 1;  // accesses beside each other that a block makes
  int all_groups = 1;
};

/// A reduction of several lanes.
template <class R, int kOut>
struct Abreast {
  struct A {
    typename R::A at[kOut];
  };
  const R& r;

  __device__ __forceinline__ A none() const {
    A a;
#pragma unroll
    for (int l = 0; l < kOut; ++l) a.at[l] = r.none();
    return a;
  }
  __device__ __forceinline__ A combine(A a, const A& b) const {
#pragma unroll
    for (int l = 0; l < kOut; ++l) a.at[l] = r.combine(a.at[l], b.at[l]);
    return a;
  }
};

/// The taps of one column, folded. `x`: row 0 of what the tile looks at, `step`: from one row to the next.
/// kShares: an input is divided by `divisor`, or by what its column and its row count.
template <class R, class T, int kOut, bool kShares>
struct ColumnFolder {
  using A = typename R::A;
  index_t divisor = 0;  // 0: none
  int column_divisor = 1;
  const int* row_divisors = nullptr;

  __device__ __forceinline__ void operator()(const R& r, const StagedAxis& axis, const Taps& taps, const T* x,
                                             index_t step, A (&folded)[kOut]) const {
    const Abreast<R, kOut> abreast{r};
    const auto sum = fold_tree<kColumnLevels>(abreast, taps.width, [&](int t) {
      auto value = abreast.none();
      const int place = taps.place + t * axis.dilation;
      if (t < taps.begin || t >= taps.end || place < 0) return value;
      auto row = static_cast<std::uint32_t>(place);
      if (axis.spacing.take(row) != 0) return value;
      const auto pack = load_pack<kOut>(x + static_cast<index_t>(row) * step);
#pragma unroll
      for (int l = 0; l < kOut; ++l) {
        value.at[l] = r.lift(pack.at[l]);
        if constexpr (kShares) {
          const index_t by = divisor > 0 ? divisor : static_cast<index_t>(column_divisor) * row_divisors[row];
          value.at[l] = by <= 0 ? A{0} : divide(value.at[l], by);
        }
      }
      return value;
    });
#pragma unroll
    for (int l = 0; l < kOut; ++l) folded[l] = sum.at[l];
  }
};
template <class T, int kOut>
struct ColumnFolder<Extreme<T>, T, kOut, false> {
  using R = Extreme<T>;
  using A = typename R::A;

  __device__ __forceinline__ void operator()(const R& r, const StagedAxis& axis, const Taps& taps, const T* x,
                                             index_t step, Spot<A> (&folded)[kOut]) const {
#pragma unroll
    for (int l = 0; l < kOut; ++l) folded[l] = {r.none(), -1};
#pragma unroll 4  // so many loads are under way together
    for (int t = taps.begin; t < taps.end; ++t) {
      const auto pack = load_pack<kOut>(x + (taps.place + t * axis.dilation) * step);
#pragma unroll
      for (int l = 0; l < kOut; ++l) {
        const A value = r.lift(pack.at[l]);
        if (folded[l].code < 0 || beats(value, folded[l].value)) folded[l] = {value, t};
      }
    }
  }
};

template <class R, class T, bool kShares>
__global__ void __launch_bounds__(kStagedThreads, 1)
    lane_columns(const __grid_constant__ LaneColumnGeometry c, const T* __restrict__ x, T* __restrict__ y, const R r) {
  constexpr int kOut = kColumnLanes<T>;
  using Folded = typename StagedFold<R>::Folded;
  const StagedGeometry& g = c.staged;
  Folded* const columns = shared_at<Folded>(g.folds);
  find_tile(g, c.chunks.quotient(blockIdx.x));
  __syncthreads();
  std::uint32_t number = blockIdx.x;
  const int first_group = static_cast<int>(c.chunks.take(number)) * c.groups;
  const int groups = min(c.groups, c.all_groups - first_group), lanes = groups * kOut, first_lane = first_group * kOut;
  const StagedTile tile = found_tile(g, number);
  const auto plane = static_cast<index_t>(number);
  const T* at = x + plane * g.x.plane + tile.in[1].begin * g.x.row + tile.in[2].begin * g.x.column + first_lane;
  const Taps taps = *shared_at<const Taps>(g.axis[1].table);
  const auto divisors = [&](int a) { return shared_at<const int>(g.axis[a].share_table); };
  ColumnFolder<R, T, kOut, kShares> folder;
  if constexpr (kShares) {
    folder.divisor = g.divisor;
    folder.row_divisors = divisors(1);
  }
  const SmallDivider by_groups(groups);
  const int width = static_cast<int>(tile.in[2].size());
  for (int n = static_cast<int>(threadIdx.x); n < width * groups; n += kStagedThreads) {
    int column = n;
    const int lane = by_groups.take(column) * kOut;
    if constexpr (kShares) folder.column_divisor = divisors(2)[column];
    Folded folded[kOut];
    folder(r, g.axis[1], taps, at + column * g.x.column + lane, g.x.row, folded);
#pragma unroll
    for (int l = 0; l < kOut; ++l) columns[column * lanes + lane + l] = folded[l];
  }
  __syncthreads();
  const StagedStore<R, T> finish{g, tile, plane, y, r};
  fold_axis(r, g.axis[2], columns, 1, width, static_cast<int>(tile.out[2].size()), lanes,
            [&](int, int rest, int o, int lane, const Folded& v) { finish(rest, o, first_lane + lane, v); });
}

}  // namespace oriel::cuda
