// Kernel "lanes": channels that stand beside each other (NHWC). A thread makes outputs of as many channels as 16 bytes
// hold, some of them below each other where their windows share rows: loads of 16 bytes, all under way together, and
// one store for each. What windows of neighbouring columns share comes from the caches.
#pragma once

#include "cuda/counted.cuh"
#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "cuda/plane_indices.cuh"

namespace oriel::cuda {

struct LaneGeometry {
  std::uint32_t count = 0;                         // threads that have work
  Divider<std::uint32_t> groups, columns, strips;  // strips of rows of outputs
  int in_rows = 0, in_columns = 0, out_rows = 0;
  int first_row = 0, first_column = 0, row_step = 1, column_step = 1;  // of the windows
  Counted counted_rows, counted_columns;
  index_t x_plane = 0, y_plane = 0, x_row = 0, y_row = 0, x_column = 0, y_column = 0;
  index_t divisor = 0;
  PlaneIndices index;
};

/// Rows of outputs of a thread, whose windows of K rows are S apart; S 0: any number apart. Elements of a byte would
/// not leave registers for more than one.
template <int K, int S, int kOut>
inline constexpr int kLaneRows = S == 0 || S >= K || kOut > 8 ? 1
                                 : S == 1                     ? 4
                                                              : 2;

/// The inputs of a thread, kRows rows of K columns in packs of kOut channels, and which of them exist.
template <class R, class T, int kRows, int K, int kOut>
struct LaneTaps {
  using A = typename R::A;
  Pack<T, kOut> taps[kRows][K];
  bool there[kRows][K];

  /// The first largest of channel l in the window that begins `above` rows down (S4): its tap, or -1.
  __device__ __forceinline__ int code(const R& r, int above, int l, A& best) const {
    best = r.none();
    int tap = -1;
#pragma unroll
    for (int t = 0; t < K * K; ++t) {
      const A v = r.lift(taps[above + t / K][t % K].at[l]);
      if (there[above + t / K][t % K] && (tap < 0 || beats(v, best))) {
        best = v;
        tap = t;
      }
    }
    return tap;
  }

  /// That window's fold, row by row, or (S8) column by column.
  __device__ __forceinline__ A fold(const R& r, int above, int l) const {
    A folded[K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
      A line[K];
#pragma unroll
      for (int j = 0; j < K; ++j) {
        const int row = above + (R::kRowsFirst ? i : j), column = R::kRowsFirst ? j : i;
        line[j] = there[row][column] ? r.lift(taps[row][column].at[l]) : r.none();
      }
      folded[i] = fold_values<K>(r, line);
    }
    return fold_values<K>(r, folded);
  }
};

template <class R, class T, int K, int S, int kOut, bool kCodes>
__global__ void __launch_bounds__(256, 1)
    lanes(const __grid_constant__ LaneGeometry g, const T* __restrict__ x, T* __restrict__ y, const R r) {
  using A = typename R::A;
  constexpr int kRows = kLaneRows<K, S, kOut>, kInputRows = (kRows - 1) * S + K;
  std::uint32_t n = thread_number<std::uint32_t>();
  if (n >= g.count) return;
  const index_t lane = static_cast<index_t>(g.groups.take(n)) * kOut;
  const int o_column = static_cast<int>(g.columns.take(n)), first = static_cast<int>(g.strips.take(n)) * kRows;
  const int top = first * (S > 0 ? S : g.row_step) + g.first_row, left = o_column * g.column_step + g.first_column;
  const auto plane = static_cast<index_t>(n);
  const T* from = x + plane * g.x_plane + lane;
  LaneTaps<R, T, kInputRows, K, kOut> in;
#pragma unroll
  for (int i = 0; i < kInputRows; ++i) {
#pragma unroll
    for (int j = 0; j < K; ++j) {
      const int row = top + i, column = left + j;
      in.there[i][j] = row >= 0 && row < g.in_rows && column >= 0 && column < g.in_columns;
      in.taps[i][j] = in.there[i][j] ? load_pack<kOut>(from + row * g.x_row + column * g.x_column) : Pack<T, kOut>{};
    }
  }
#pragma unroll
  for (int o = 0; o < kRows; ++o) {
    const int o_row = first + o, above = o * S;  // rows of taps before the output's own
    if (kRows > 1 && o_row >= g.out_rows) break;
    const index_t at = plane * g.y_plane + o_row * g.y_row + o_column * g.y_column + lane;
    Pack<T, kOut> result;
    if constexpr (kCodes) {
      int code[kOut];
#pragma unroll
      for (int l = 0; l < kOut; ++l) {
        A best;
        code[l] = in.code(r, above, l, best);
        result.at[l] = r.lower(best, 1);
      }
      if (y != nullptr) store_pack<kOut>(y + at, result);
      const PlanePitches &to = g.index.pitch, &step = g.index.number;
      store_indices<kOut>(g.index, plane * to.plane + o_row * to.row + o_column * to.column + lane, 0, kOut, code,
                          [&](int l) {
                            return plane * step.plane + (top + above + code[l] / K) * step.row +
                                   (left + code[l] % K) * step.column + (lane + l) * g.index.lane_number;
                          });
    } else {
      index_t divisor = 1;
      if constexpr (!R::kRowsFirst) {
        divisor = g.divisor > 0 ? g.divisor : g.counted_rows.taps<K>(top + above) * g.counted_columns.taps<K>(left);
      }
#pragma unroll
      for (int l = 0; l < kOut; ++l) result.at[l] = r.lower(in.fold(r, above, l), divisor);
      store_pack<kOut>(y + at, result);
    }
  }
}

}  // namespace oriel::cuda
