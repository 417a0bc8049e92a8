// Extrema of windows that move down the rows of a plane: each row's extremum is found once, and combined with the
// others of every window that has the row.
#pragma once

#include "cuda/device/reductions.cuh"

namespace oriel::cuda {

/// Windows of K x K taps, S apart; kOut neighbouring outputs of one thread.
template <class T, int K, int S, int kOut>
struct ExtremumRows {
  using A = computed_t<T>;
  A best[K][kOut];   // of each of the window's rows
  int tap[K][kOut];  // -1: the row has no tap

  /// Takes row k of the windows, whose columns from `left` on are `v`; what is not there has no tap.
  template <int kColumns>
  __device__ __forceinline__ void take(const Extreme<T>& r, int k, const A (&v)[kColumns], bool there, int left,
                                       int width) {
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      tap[k][o] = -1;
      best[k][o] = r.none();
#pragma unroll
      for (int t = 0; t < K; ++t) {
        const int c = left + o * S + t;
        if (there && c >= 0 && c < width && (tap[k][o] < 0 || beats(v[o * S + t], best[k][o]))) {
          best[k][o] = v[o * S + t];
          tap[k][o] = t;
        }
      }
    }
  }

  /// The first largest of output o's window (S4): its tap, row-major, or -1; `b` becomes its value.
  __device__ __forceinline__ int code(int o, A& b) const {
    b = best[0][o];
    int t = tap[0][o];
#pragma unroll
    for (int k = 1; k < K; ++k) {
      if (tap[k][o] >= 0 && (t < 0 || beats(best[k][o], b))) {
        b = best[k][o];
        t = k * K + tap[k][o];
      }
    }
    return t;
  }

  /// The next output's rows: those that it shares with this one.
  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int k = 0; k + S < K; ++k) {
#pragma unroll
      for (int o = 0; o < kOut; ++o) {
        best[k][o] = best[k + S][o];
        tap[k][o] = tap[k + S][o];
      }
    }
  }
};

}  // namespace oriel::cuda
