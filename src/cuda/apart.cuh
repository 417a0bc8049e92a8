// Kernel "apart": gradients of 2x2 windows, 2 apart, along rows that are contiguous (NCHW). A thread makes all of two
// rows of 16 bytes of dx, zeros included: x and dy are read once, dx is written once, nothing is cleared before. Maxima
// are recomputed from x.
#pragma once

#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "cuda/groups.cuh"
#include "oriel/window.h"

namespace oriel::cuda {

struct ApartGeometry {
  std::uint32_t count = 0;
  Divider<std::uint32_t> groups, pairs;  // of 16 bytes along a row; of rows
  Axis h, w;
  index_t x_plane = 0, dy_plane = 0, dx_plane = 0, x_row = 0, dy_row = 0, dx_row = 0;
  index_t divisor = 1;      // of sums and averages
  bool dy_aligned = false;  // a group's gradients come in one access
};

/// kExtremum: x is read, and r says what wins; else each tap gets dy / divisor.
template <class T, int kOut, bool kExtremum>
__global__ void __launch_bounds__(256) apart(const __grid_constant__ ApartGeometry g, const T* __restrict__ x,
                                             const T* __restrict__ dy, T* __restrict__ dx, const Extreme<T> r) {
  using A = computed_t<T>;
  constexpr int kOwn = 2 * kOut;
  std::uint32_t n = thread_number<std::uint32_t>();
  if (n >= g.count) return;
  const int first = static_cast<int>(g.groups.take(n)) * kOut;
  const auto o_row = static_cast<index_t>(g.pairs.take(n));
  const auto plane = static_cast<index_t>(n);
  const index_t row = g.h.start(o_row), column = g.w.start(first);
  const bool window = o_row < g.h.out;
  Pack<T, kOut> gradient{};
  if (window) {
    gradient = load_group<T, kOut>(dy + plane * g.dy_plane + o_row * g.dy_row + first, first, static_cast<int>(g.w.out),
                                   g.dy_aligned);
  }
  Pack<T, kOwn> out[2];
  if constexpr (kExtremum) {
    const T* at = x + plane * g.x_plane + row * g.x_row + column;
    Pack<T, kOwn> in[2] = {};
    if (window) {
      in[0] = load_pack<kOwn>(at);
      in[1] = load_pack<kOwn>(at + g.x_row);
    }
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      A best = r.lift(in[0].at[2 * o]);
      int winner = 0;
#pragma unroll
      for (int t = 1; t < 4; ++t) {
        const A v = r.lift(in[t / 2].at[2 * o + t % 2]);
        if (beats(v, best)) {
          best = v;
          winner = t;
        }
      }
      const T sent = element_of<T>(value_of(gradient.at[o]) + A{0});
#pragma unroll
      for (int t = 0; t < 4; ++t) out[t / 2].at[2 * o + t % 2] = t == winner ? sent : T{};
    }
  } else {
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      const A dy_value = value_of(gradient.at[o]);
      const A share = g.divisor == 1 ? dy_value : g.divisor == 4 ? dy_value * A(0.25) : divide(dy_value, g.divisor);
      const T sent = element_of<T>(share + A{0});
      out[0].at[2 * o] = out[0].at[2 * o + 1] = out[1].at[2 * o] = out[1].at[2 * o + 1] = sent;
    }
  }
  T* to = dx + plane * g.dx_plane + row * g.dx_row + column;
  store_pack<kOwn>(to, out[0]);
  if (row + 1 < g.h.in) store_pack<kOwn>(to + g.dx_row, out[1]);
}

}  // namespace oriel::cuda
