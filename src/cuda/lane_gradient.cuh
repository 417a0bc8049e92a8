// Kernel "lane gradient": gradients of small windows over channels that stand beside each other (NHWC). A thread makes
// 16 bytes of channels of one place of dx from the few outputs that read it.
#pragma once

#include "cuda/counted.cuh"
#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"

namespace oriel::cuda {

struct LaneGradientGeometry {
  std::uint32_t count = 0;
  Divider<std::uint32_t> groups, columns, rows;  // of channels, and of dx
  int first_row = 0, first_column = 0;           // where output 0 looks
  int out_rows = 0, out_columns = 0, in_rows = 0, in_columns = 0;
  index_t x_plane = 0, x_row = 0, x_column = 0;
  index_t dy_plane = 0, dy_row = 0, dy_column = 0, dx_plane = 0, dx_row = 0, dx_column = 0;
  index_t code_plane = 0, code_row = 0, code_column = 0;
  const std::uint8_t* code = nullptr;  // of extrema
  bool average = false;
  int divisor = 0;  // fixed; 0: none
  Counted counted_rows, counted_columns;
};

/// The output that reads a place with tap t, or -1; `from_first`: the place, counted from where output 0 looks.
template <int S>
__device__ __forceinline__ int reader_of(int from_first, int t, int outputs) {
  const int p = from_first - t;
  return p >= 0 && p % S == 0 && p / S < outputs ? p / S : -1;
}

/// Windows of K taps, S apart. Outputs are taken in ascending order: with the last tap first.
template <class T, int K, int S, int kOut, bool kExtremum>
__global__ void __launch_bounds__(256)
    lane_gradients(const __grid_constant__ LaneGradientGeometry g, const T* __restrict__ dy, T* __restrict__ dx) {
  using A = computed_t<T>;
  std::uint32_t n = thread_number<std::uint32_t>();
  if (n >= g.count) return;
  const index_t lane = static_cast<index_t>(g.groups.take(n)) * kOut;
  const int column = static_cast<int>(g.columns.take(n)), row = static_cast<int>(g.rows.take(n));
  const auto plane = static_cast<index_t>(n);
  const T* sent = dy + plane * g.dy_plane + lane;
  const std::uint8_t* code = g.code + plane * g.code_plane + lane;
  A sum[kOut];
#pragma unroll
  for (int l = 0; l < kOut; ++l) sum[l] = A(kExtremum ? 0.0 : -0.0);
#pragma unroll
  for (int i = K - 1; i >= 0; --i) {
    A line[kOut];  // of sums: a column of outputs, for columns are added up first (S8)
#pragma unroll
    for (int l = 0; l < kOut; ++l) line[l] = A(-0.0);
#pragma unroll
    for (int j = K - 1; j >= 0; --j) {
      const int row_tap = kExtremum ? i : j, column_tap = kExtremum ? j : i;
      const int o_row = reader_of<S>(row - g.first_row, row_tap, g.out_rows);
      const int o_column = reader_of<S>(column - g.first_column, column_tap, g.out_columns);
      if (o_row < 0 || o_column < 0) continue;
      const auto v = load_pack<kOut>(sent + o_row * g.dy_row + o_column * g.dy_column);
      if constexpr (kExtremum) {
        const auto chosen = load_pack<kOut>(code + o_row * g.code_row + o_column * g.code_column);
#pragma unroll
        for (int l = 0; l < kOut; ++l) {
          if (chosen.at[l] == row_tap * K + column_tap) sum[l] = sum[l] + value_of(v.at[l]);
        }
      } else {
        const int taps = g.divisor > 0
                             ? g.divisor
                             : g.counted_rows.taps<K>(row - row_tap) * g.counted_columns.taps<K>(column - column_tap);
#pragma unroll
        for (int l = 0; l < kOut; ++l) {
          const A value = value_of(v.at[l]);
          line[l] = line[l] + (g.average ? value / static_cast<A>(taps) : value);
        }
      }
    }
    if constexpr (!kExtremum) {
#pragma unroll
      for (int l = 0; l < kOut; ++l) sum[l] = sum[l] + line[l];
    }
  }
  Pack<T, kOut> result;
#pragma unroll
  for (int l = 0; l < kOut; ++l) result.at[l] = element_of<T>(sum[l] + A{0});
  store_pack<kOut>(dx + plane * g.dx_plane + row * g.dx_row + column * g.dx_column + lane, result);
}

/// Windows of 2x2, 2 apart, without padding: a thread makes the four places of dx that one output reads, whose extremum
/// it finds again from x. Places that no output reads become 0.
template <class T, int kOut>
__global__ void __launch_bounds__(256)
    lanes_apart(const __grid_constant__ LaneGradientGeometry g, const T* __restrict__ x, const T* __restrict__ dy,
                T* __restrict__ dx, const Extreme<T> r) {
  using A = computed_t<T>;
  std::uint32_t n = thread_number<std::uint32_t>();
  if (n >= g.count) return;
  const index_t lane = static_cast<index_t>(g.groups.take(n)) * kOut;
  const int o_column = static_cast<int>(g.columns.take(n)), o_row = static_cast<int>(g.rows.take(n));
  const auto plane = static_cast<index_t>(n);
  const bool window = o_row < g.out_rows && o_column < g.out_columns;
  Pack<T, kOut> taps[4] = {}, sent{}, out[4];
  if (window) {
    sent = load_pack<kOut>(dy + plane * g.dy_plane + o_row * g.dy_row + o_column * g.dy_column + lane);
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      taps[t] = load_pack<kOut>(x + plane * g.x_plane + (2 * o_row + t / 2) * g.x_row +
                                (2 * o_column + t % 2) * g.x_column + lane);
    }
  }
#pragma unroll
  for (int l = 0; l < kOut; ++l) {
    A best = r.lift(taps[0].at[l]);
    int winner = 0;
#pragma unroll
    for (int t = 1; t < 4; ++t) {
      const A v = r.lift(taps[t].at[l]);
      if (beats(v, best)) {
        best = v;
        winner = t;
      }
    }
    const T value = element_of<T>(value_of(sent.at[l]) + A{0});
#pragma unroll
    for (int t = 0; t < 4; ++t) out[t].at[l] = t == winner ? value : T{};
  }
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const int row = 2 * o_row + t / 2, column = 2 * o_column + t % 2;
    if (row < g.in_rows && column < g.in_columns) {
      store_pack<kOut>(dx + plane * g.dx_plane + row * g.dx_row + column * g.dx_column + lane, out[t]);
    }
  }
}

}  // namespace oriel::cuda
