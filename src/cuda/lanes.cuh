// Kernel "lanes": channels that stand beside each other (NHWC). A thread makes one output of as many channels as 16
// bytes hold: K x K loads of 16 bytes, all under way together, and one store. Taps that windows share come from the
// caches.
#pragma once

#include "cuda/divider.h"
#include "cuda/plane_indices.cuh"
#include "cuda/reductions.cuh"

namespace oriel::cuda {

struct LaneGeometry {
  std::uint32_t count = 0;  // threads that have work
  Divider<std::uint32_t> groups, columns, rows;
  Axis h, w;
  index_t x_plane = 0, y_plane = 0, x_row = 0, y_row = 0, x_column = 0, y_column = 0;
  bool count_include_pad = true;
  index_t divisor = 0;
  PlaneIndices index;
};

template <class R, class T, int K, int kOut, bool kCodes>
__global__ void __launch_bounds__(256)
    lanes(const __grid_constant__ LaneGeometry g, const T* __restrict__ x, T* __restrict__ y, const R r) {
  using A = typename R::A;
  std::uint32_t n = thread_number<std::uint32_t>();
  if (n >= g.count) return;
  const index_t lane = static_cast<index_t>(g.groups.take(n)) * kOut;
  const auto o_column = static_cast<index_t>(g.columns.take(n)), o_row = static_cast<index_t>(g.rows.take(n));
  const index_t top = g.h.start(o_row), left = g.w.start(o_column);
  const T* plane = x + static_cast<index_t>(n) * g.x_plane + lane;
  Pack<T, kOut> taps[K][K];
  bool there[K][K];
#pragma unroll
  for (int i = 0; i < K; ++i) {
#pragma unroll
    for (int j = 0; j < K; ++j) {
      const index_t row = top + i, column = left + j;
      there[i][j] = row >= 0 && row < g.h.in && column >= 0 && column < g.w.in;
      taps[i][j] = there[i][j] ? load_pack<kOut>(plane + row * g.x_row + column * g.x_column) : Pack<T, kOut>{};
    }
  }
  const index_t at = static_cast<index_t>(n) * g.y_plane + o_row * g.y_row + o_column * g.y_column + lane;
  Pack<T, kOut> result;
  if constexpr (kCodes) {
    int code[kOut];
#pragma unroll
    for (int l = 0; l < kOut; ++l) {
      A best = r.none();
      int tap = -1;
#pragma unroll
      for (int t = 0; t < K * K; ++t) {
        const A v = r.lift(taps[t / K][t % K].at[l]);
        if (there[t / K][t % K] && (tap < 0 || beats(v, best))) {
          best = v;
          tap = t;
        }
      }
      result.at[l] = r.lower(best, 1);
      code[l] = tap;
    }
    if (y != nullptr) store_pack<kOut>(y + at, result);
    const PlanePitches &to = g.index.pitch, &step = g.index.number;
    const auto n_plane = static_cast<index_t>(n);
    store_indices<kOut>(g.index, n_plane * to.plane + o_row * to.row + o_column * to.column + lane, 0, kOut, code,
                        [&](int l) {
                          return n_plane * step.plane + (top + code[l] / K) * step.row +
                                 (left + code[l] % K) * step.column + (lane + l) * g.index.lane_number;
                        });
  } else {
    index_t divisor = 1;
    if constexpr (!R::kRowsFirst) {
      divisor = g.divisor > 0 ? g.divisor
                              : g.h.divisor(o_row, g.count_include_pad) * g.w.divisor(o_column, g.count_include_pad);
    }
#pragma unroll
    for (int l = 0; l < kOut; ++l) {
      A folded[K];
#pragma unroll
      for (int i = 0; i < K; ++i) {  // row by row, or (S8) column by column
        A line[K];
#pragma unroll
        for (int j = 0; j < K; ++j) {
          const int row = R::kRowsFirst ? i : j, column = R::kRowsFirst ? j : i;
          line[j] = there[row][column] ? r.lift(taps[row][column].at[l]) : r.none();
        }
        folded[i] = fold_values<K>(r, line);
      }
      result.at[l] = r.lower(fold_values<K>(r, folded), divisor);
    }
    store_pack<kOut>(y + at, result);
  }
}

}  // namespace oriel::cuda
