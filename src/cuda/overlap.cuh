// Kernel "overlap": gradients of 3x3 windows, 1 or 2 apart, along rows that are contiguous (NCHW). A thread makes a
// strip of dx, some columns wide: it goes down the rows of outputs, whose places it finds again from x, and keeps the
// rows of dx that later outputs may still add to. What columns share comes from the neighbouring lanes; the first and
// the last lane of a warp only serve the others.
#pragma once

#include "cuda/anywhere.cuh"
#include "cuda/counted.cuh"
#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "cuda/extremum_rows.cuh"
#include "cuda/groups.cuh"

namespace oriel::cuda {

struct OverlapGeometry {
  std::uint32_t count = 0;                                         // groups of columns of all strips
  Divider<std::uint32_t> groups;                                   // along a row
  Divider<std::uint32_t> strips;                                   // of a plane
  int in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;  // of the pool
  int first_row = 0;                                               // that output 0 looks at
  index_t x_plane = 0, dy_plane = 0, dx_plane = 0;
  int x_row = 0, dy_row = 0, dx_row = 0;
  index_t x_run = 0, dy_run = 0;  // elements where nothing lies between them, else 0
  bool dy_aligned = false;        // a group's gradients come in one access
  bool average = false;
  int divisor = 0;  // fixed; 0: none
  Counted rows, columns;
};

/// Lanes of a warp that store.
inline constexpr int kOverlapLanes = kWarp - 2;
/// Rows of dx in a strip, in steps of the window.
template <int S>
inline constexpr int kOverlapSteps = 16 / S;

/// Where a thread works.
struct OverlapPlace {
  int group = 0, first_step = 0;
  index_t plane = 0;
  bool stores = false;
  bool next = false;                   // the next lane has the next group of the row
  bool before = false, after = false;  // so has the lane before, or after, and it stores
};

/// Windows of K taps, S apart, PL places of padding before; kOut outputs begin in a thread's columns. kAnywhere: rows
/// may begin anywhere and have any width.
template <class T, int K, int S, int PL, int kOut, bool kAnywhere>
struct Overlap {
  static constexpr int kOwn = kOut * S;           // columns of a thread
  static constexpr int kColumns = kOwn - S + K;   // that its outputs look at
  static constexpr int kRight = K - S - PL;       // of them, after its own
  static constexpr int kPast = (K - 1 - PL) / S;  // outputs before its own that look at its columns
  static constexpr int kNext = (S - 1 + PL) / S;  // and after
  static constexpr int kSpan = kPast + kOut + kNext;
  static_assert(PL <= 1 && kRight >= 0 && kRight <= 1 && kPast <= 1 && kNext <= 1 && kNext * S >= PL);
  static_assert(kOwn * sizeof(T) == kWidest);
  static_assert(kOwn > 1);  // what a lane that only serves gives must not need a lane beyond it

  /// The tap with which output i of the span reads own column j, or -1.
  static constexpr int tap(int i, int j) {
    const int t = PL + j - (i - kPast) * S;
    return t < K ? t : -1;
  }

  /// The columns from `left` on of a row; what is not there is r.none(). All lanes call.
  template <class R, class A>
  static __device__ __forceinline__ void read(const R& r, const Readable<T>& from, const OverlapPlace& place,
                                              const T* row, bool there, int left, int width, A (&v)[kColumns]) {
    const int own = left + PL;
    Pack<T, kOwn> pack{};
    if constexpr (kAnywhere) {
      pack = load_anywhere<kOwn>(from, row + own, there ? width - own : -kOwn, place.next);
    } else if (there && own < width) {  // the width is a multiple of kOwn
      pack = load_pack<kOwn>(row + own);
    }
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      v[PL + j] = there && own + (kAnywhere ? j : 0) < width ? r.lift(pack.at[j]) : r.none();
    }
    if constexpr (PL == 1) v[0] = from_lane_before(v[kOwn]);
    if constexpr (kRight == 1) v[kColumns - 1] = from_lane_after(v[PL]);
  }

  /// The gradients of a thread's outputs, from `first` on in a row of them. All lanes call.
  static __device__ __forceinline__ Pack<T, kOut> gradients(const OverlapGeometry& g, const OverlapPlace& place,
                                                            const Readable<T>& from, const T* at, bool there, int first,
                                                            int end) {
    if constexpr (kAnywhere) return load_anywhere<kOut>(from, at, there ? end - first : -kOut, place.next);
    return there ? load_group<T, kOut>(at, first, end, g.dy_aligned) : Pack<T, kOut>{};
  }

  /// Stores a thread's columns of a row of dx. All lanes call.
  static __device__ __forceinline__ void store(const OverlapPlace& place, T* at, bool there, int own, int width,
                                               const Pack<T, kOwn>& out) {
    there = there && place.stores;
    if constexpr (kAnywhere) {
      store_anywhere<kOwn>(at, out, there ? width - own : 0, place.before, place.after && own + kOwn < width);
    } else if (there && own < width) {
      store_pack<kOwn>(at, out);
    }
  }

  /// Values of own outputs and, beside them, those of the neighbours. All lanes call.
  template <class A>
  static __device__ __forceinline__ void share(const A (&own)[kOut], A (&span)[kSpan]) {
#pragma unroll
    for (int o = 0; o < kOut; ++o) span[kPast + o] = own[o];
    if constexpr (kPast == 1) span[0] = from_lane_before(own[kOut - 1]);
    if constexpr (kNext == 1) span[kSpan - 1] = from_lane_after(own[0]);
  }

  /// Adds to the rows of own columns what the outputs of the span send there, in ascending order: the share of each to
  /// the place that its code names.
  template <class A>
  static __device__ __forceinline__ void add(int (&code)[kSpan], const A (&share)[kSpan], int first, int end,
                                             A (&sum)[K][kOwn]) {
#pragma unroll
    for (int c = 0; c < kSpan; ++c) {
      const int o = first + c - kPast;
      if (o < 0 || o >= end) code[c] = -1;
#pragma unroll
      for (int k = 0; k < K; ++k) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          const int t = tap(c, j);
          if (t >= 0 && code[c] == k * K + t) sum[k][j] = sum[k][j] + share[c];
        }
      }
    }
  }

  /// The rows of dx that the next outputs may add to: those that they share with these, and new ones.
  template <class A, int kWidth>
  static __device__ __forceinline__ void advance(A (&sum)[K][kWidth], A fresh) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[k][j] = k + S < K ? sum[k + S][j] : fresh;
    }
  }

  /// What the outputs of the span that exist and read own column j add up to; none: -0.0.
  template <class A>
  static __device__ __forceinline__ A total(const A (&span)[kSpan], int j, int first, int end) {
    A sum = A(-0.0);
#pragma unroll
    for (int c = 0; c < kSpan; ++c) {
      const int o = first + c - kPast;
      if (tap(c, j) >= 0 && o >= 0 && o < end) sum = sum + span[c];
    }
    return sum;
  }
};

template <int S>
__device__ __forceinline__ OverlapPlace overlap_place(const OverlapGeometry& g) {
  const auto thread = thread_number<std::uint64_t>();
  const int lane = static_cast<int>(thread % kWarp);
  const auto number = static_cast<index_t>(thread / kWarp) * kOverlapLanes + lane - 1;
  OverlapPlace place;
  place.stores = lane > 0 && lane <= kOverlapLanes && number < g.count;
  auto n = static_cast<std::uint32_t>(number < 0 ? 0 : number < g.count ? number : g.count - 1);
  place.group = static_cast<int>(g.groups.take(n));
  place.first_step = static_cast<int>(g.strips.take(n)) * kOverlapSteps<S>;
  place.plane = static_cast<index_t>(n);
  place.next = lane < kWarp - 1 && place.group + 1 < static_cast<int>(g.groups.divisor);
  place.before = lane > 1 && place.group > 0;
  place.after = place.next && lane < kOverlapLanes && number + 1 < g.count;
  return place;
}

/// dx of a max or min: an input adds what the outputs send that chose it, in ascending order.
template <class T, int K, int S, int PL, int kOut, bool kAnywhere>
__global__ void __launch_bounds__(256, 2)
    overlap_extremum(const __grid_constant__ OverlapGeometry g, const T* __restrict__ x, const T* __restrict__ dy,
                     T* __restrict__ dx, const Extreme<T> r) {
  using Shape = Overlap<T, K, S, PL, kOut, kAnywhere>;
  using A = computed_t<T>;
  constexpr int kOwn = Shape::kOwn, kSpan = Shape::kSpan;
  const OverlapPlace place = overlap_place<S>(g);
  const int first = place.group * kOut, left = first * S - PL;
  const int width = g.in_columns, height = g.in_rows, end = g.out_columns;
  const int row_begin = place.first_step * S, row_end = min(height, row_begin + kOverlapSteps<S> * S);
  const T* in = x + place.plane * g.x_plane;
  const T* gradient = dy + place.plane * g.dy_plane + first;
  T* out = dx + place.plane * g.dx_plane + left + PL;

  A sum[K][kOwn] = {};  // rows of dx that the outputs of this row may add to
  ExtremumRows<T, K, S, kOut> extrema;
  int o_row = place.first_step - Shape::kPast, row = o_row * S + g.first_row;
  const auto read = [&](int k) {
    const bool there = row + k >= 0 && row + k < height;
    const T* at = in + static_cast<index_t>(row + k) * g.x_row;
    A v[Shape::kColumns];
    Shape::read(r, readable(g.x_run, x, at, width), place, at, there, left, width, v);
    extrema.take(r, k, v, there, left, width);
  };
#pragma unroll
  for (int k = 0; k < K - S; ++k) read(k);
#pragma unroll 1
  for (int i = 0; i < Shape::kPast + kOverlapSteps<S> + Shape::kNext; ++i, ++o_row, row += S) {
    const bool there = o_row >= 0 && o_row < g.out_rows;
    const T* from = gradient + static_cast<index_t>(o_row) * g.dy_row;
    const Pack<T, kOut> sent =
        Shape::gradients(g, place, readable(g.dy_run, dy, from - first, end), from, there, first, end);
#pragma unroll
    for (int k = K - S; k < K; ++k) read(k);
    int own_code[kOut], code[kSpan];
    A own[kOut], share[kSpan];
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      A value;
      own_code[o] = there ? extrema.code(o, value) : -1;
      own[o] = value_of(sent.at[o]);
    }
    Shape::share(own_code, code);
    Shape::share(own, share);
    Shape::add(code, share, first, end, sum);
#pragma unroll
    for (int k = 0; k < S; ++k) {
      Pack<T, kOwn> result;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) result.at[j] = element_of<T>(sum[k][j]);
      const bool made = row + k >= row_begin && row + k < row_end;
      Shape::store(place, out + static_cast<index_t>(row + k) * g.dx_row, made, left + PL, width, result);
    }
    extrema.advance();
    Shape::advance(sum, A{0});
  }
}

/// dx of a sum or an average: columns of outputs are added up first, then along the row (S8).
template <class T, int K, int S, int PL, int kOut, bool kAnywhere>
__global__ void __launch_bounds__(256, 2)
    overlap_sum(const __grid_constant__ OverlapGeometry g, const T* __restrict__ dy, T* __restrict__ dx) {
  using Shape = Overlap<T, K, S, PL, kOut, kAnywhere>;
  using A = computed_t<T>;
  constexpr int kOwn = Shape::kOwn, kSpan = Shape::kSpan;
  constexpr A kAbsent = A(-0.0);
  const OverlapPlace place = overlap_place<S>(g);
  const int first = place.group * kOut, own_column = first * S;
  const int width = g.in_columns, end = g.out_columns;
  const int row_begin = place.first_step * S, row_end = min(g.in_rows, row_begin + kOverlapSteps<S> * S);
  const T* gradient = dy + place.plane * g.dy_plane + first;
  T* out = dx + place.plane * g.dx_plane + own_column;

  A along[kOut];  // what a row's outputs are divided by, but for the taps across rows
#pragma unroll
  for (int o = 0; o < kOut; ++o) {
    const int taps = g.columns.taps<K>(own_column - PL + o * S);
    along[o] = static_cast<A>(!g.average ? 1 : g.divisor > 0 ? g.divisor : taps);
  }
  A sum[K][kOut];  // of each column of outputs, for the rows of dx that this row of outputs may add to
#pragma unroll
  for (int k = 0; k < K; ++k) {
#pragma unroll
    for (int o = 0; o < kOut; ++o) sum[k][o] = kAbsent;
  }
  int o_row = place.first_step - Shape::kPast, row = o_row * S + g.first_row;
#pragma unroll 2  // loads of two rows are under way together
  for (int i = 0; i < Shape::kPast + kOverlapSteps<S> + Shape::kNext; ++i, ++o_row, row += S) {
    const bool there = o_row >= 0 && o_row < g.out_rows;
    const T* from = gradient + static_cast<index_t>(o_row) * g.dy_row;
    const Pack<T, kOut> sent =
        Shape::gradients(g, place, readable(g.dy_run, dy, from - first, end), from, there, first, end);
    if (there) {
      const bool counted = g.average && g.divisor == 0;
      const A across = static_cast<A>(counted ? g.rows.taps<K>(row) : 1);
#pragma unroll
      for (int o = 0; o < kOut; ++o) {
        if (first + o >= end) continue;
        const A share = g.average ? value_of(sent.at[o]) / (along[o] * across) : value_of(sent.at[o]);
#pragma unroll
        for (int k = 0; k < K; ++k) sum[k][o] = sum[k][o] + share;
      }
    }
#pragma unroll
    for (int k = 0; k < S; ++k) {
      A span[kSpan];
      Shape::share(sum[k], span);
      const bool made = row + k >= row_begin && row + k < row_end;
      Pack<T, kOwn> result;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) result.at[j] = element_of<T>(Shape::total(span, j, first, end) + A{0});
      Shape::store(place, out + static_cast<index_t>(row + k) * g.dx_row, made, own_column, width, result);
    }
    Shape::advance(sum, kAbsent);
  }
}

}  // namespace oriel::cuda
