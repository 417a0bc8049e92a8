// Kernel "strip": windows of 2 or 3 along rows that are contiguous (NCHW). A thread makes kOut neighbouring outputs of
// several rows of outputs, one row below the other: what two windows share stays in registers. A row is read in
// accesses of 16 bytes, wherever it begins; the column beside them comes from the neighbouring thread.
#pragma once

#include "cuda/anywhere.cuh"
#include "cuda/counted.cuh"
#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "cuda/extremum_rows.cuh"
#include "cuda/groups.cuh"
#include "cuda/plane_indices.cuh"

namespace oriel::cuda {

/// The outputs of a strip, and where they are.
struct StripGeometry {
  std::uint32_t count = 0;        // threads that have work
  Divider<std::uint32_t> groups;  // of outputs along a row
  Divider<std::uint32_t> strips;  // of rows of outputs in a plane
  Divider<std::uint32_t> depths;  // planes of outputs of a volume
  int in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int first_row = 0;                 // that output 0 looks at
  Counted rows, columns;             // what an average counts
  index_t x_plane = 0, y_plane = 0;  // pitches
  index_t x_depth = 0, y_depth = 0;
  int x_row = 0, y_row = 0;
  index_t x_run = 0;       // elements of x where nothing lies between them, else 0
  bool y_aligned = false;  // every group of outputs can be stored in one access
  index_t divisor = 0;     // fixed; 0: none
  PlaneIndices index;
};

/// Blocks that a multiprocessor must have registers for.
template <int kOut>
inline constexpr int kStripBlocks = kOut < 8 ? 2 : 1;
/// Rows of outputs that one thread makes.
template <int S>
inline constexpr int kStripRows = S == 1 ? 8 : 4;

/// Where a thread works.
struct StripPlace {
  int group = 0;      // first output along the row, in groups
  int first_row = 0;  // first row of outputs
  int depth = 0;      // plane of outputs of a volume
  index_t plane = 0;
  bool active = false;  // threads beyond the last one work with it, and store nothing
  bool before = false;  // the lane before has the group before in the row,
  bool after = false;   // the next lane the next one
};

template <int S>
__device__ __forceinline__ StripPlace strip_place(const StripGeometry& g) {
  StripPlace place;
  std::uint32_t n = thread_number<std::uint32_t>();
  place.active = n < g.count;
  if (!place.active) n = g.count - 1;
  place.group = static_cast<int>(g.groups.take(n));
  place.first_row = static_cast<int>(g.strips.take(n)) * kStripRows<S>;
  place.depth = static_cast<int>(g.depths.take(n));
  place.plane = static_cast<index_t>(n);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  place.before = lane > 0 && place.group > 0;
  place.after = lane < kWarp - 1 && place.group + 1 < static_cast<int>(g.groups.divisor);
  return place;
}

/// A window's shape along a row: K taps, S apart, PL places of padding before, kOut outputs of one thread. kAnywhere:
/// rows may begin anywhere and have any width.
template <class T, int K, int S, int PL, int kOut, bool kAnywhere>
struct StripRow {
  static constexpr int kColumns = (kOut - 1) * S + K;
  static constexpr int kRight = K - S - PL > 0 ? K - S - PL : 0;
  static constexpr int kOwn =
      kOut * S;  // columns that no other thread begins with: one access, next to its neighbours'
  static_assert(PL <= 1 && kRight <= 1 && PL + kOwn + kRight == kColumns);
  static_assert(kOwn * sizeof(T) == kWidest);

  /// The columns from `left` on of a row, lifted; what is not there is r.none(). All threads of a warp call it.
  template <class R, class A>
  static __device__ __forceinline__ void read(const R& r, const Readable<T>& from, const StripPlace& place,
                                              const T* row, bool there, int left, int width, A (&v)[kColumns]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, own = left + PL;
    Pack<T, kOwn> pack{};
    if constexpr (kAnywhere) {
      pack = load_anywhere<kOwn>(from, row + own, there ? width - own : -kOwn, place.after);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) v[PL + i] = there && own + i < width ? r.lift(pack.at[i]) : r.none();
    } else {
      const bool inside = there && own < width;  // the width is a multiple of kOwn
      if (inside) pack = load_pack<kOwn>(row + own);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) v[PL + i] = inside ? r.lift(pack.at[i]) : r.none();
    }
    if constexpr (PL == 1) {
      v[0] = from_lane_before(v[kColumns - kRight - 1]);
      if (left < 0)
        v[0] = r.none();
      else if (lane == 0)
        v[0] = there && left < width ? r.lift(load(row + left)) : r.none();
    }
    if constexpr (kRight == 1) {
      const int c = left + kColumns - 1;
      v[kColumns - 1] = from_lane_after(v[PL]);
      if (c >= width)
        v[kColumns - 1] = r.none();
      else if (kAnywhere ? !place.after : lane == kWarp - 1)
        v[kColumns - 1] = there ? r.lift(load(row + c)) : r.none();
    }
  }

  /// Stores the outputs of a thread from `first` on that a row of them has.
  static __device__ __forceinline__ void store(const StripGeometry& g, const StripPlace& place, T* at, int first,
                                               bool there, const Pack<T, kOut>& out) {
    const int end = g.out_columns;
    if constexpr (kAnywhere) {
      store_anywhere<kOut>(at, out, there ? end - first : 0, place.before, place.after);
    } else if (there) {
      store_group<kOut>(at, out, first, end, g.y_aligned);
    }
  }
};

/// The rows of KD planes that the windows of a thread's row of outputs read: of each what is kept, its folds where rows
/// are folded first, else its elements.
template <class R, int KD, int K, int S, int kOut, int kColumns>
struct StripWindow {
  using A = typename R::A;
  static constexpr int kKept = R::kRowsFirst ? kOut : kColumns;
  A rows[KD][K][kKept];

  /// Takes the columns of row k of plane d.
  __device__ __forceinline__ void take(const R& r, int d, int k, const A (&v)[kColumns]) {
    A(&kept)[kKept] = rows[d][k];
    if constexpr (R::kRowsFirst) {
#pragma unroll
      for (int o = 0; o < kOut; ++o) {
        A a = v[o * S];
#pragma unroll
        for (int t = 1; t < K; ++t) a = r.combine(a, v[o * S + t]);
        kept[o] = a;
      }
    } else {
#pragma unroll
      for (int i = 0; i < kColumns; ++i) kept[i] = v[i];
    }
  }

  /// The rows into one: where rows are folded first, plane after plane.
  __device__ __forceinline__ A fold(const R& r, int c) const {
    if constexpr (R::kRowsFirst) {
      A a = rows[0][0][c];
#pragma unroll
      for (int dk = 1; dk < KD * K; ++dk) a = r.combine(a, rows[dk / K][dk % K][c]);
      return a;
    } else {
      A column[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        A a = rows[0][k][c];
#pragma unroll
        for (int d = 1; d < KD; ++d) a = r.combine(a, rows[d][k][c]);
        column[k] = a;
      }
      return fold_values<K>(r, column);
    }
  }

  /// Output o of the rows' folds.
  static __device__ __forceinline__ A output(const R& r, const A (&folded)[kKept], int o) {
    A a = folded[R::kRowsFirst ? o : o * S];
    if constexpr (!R::kRowsFirst) {
#pragma unroll
      for (int k = 1; k < K; ++k) a = r.combine(a, folded[o * S + k]);
    }
    return a;
  }

  /// The next row of outputs: the rows that it shares with this one.
  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int d = 0; d < KD; ++d) {
#pragma unroll
      for (int k = 0; k + S < K; ++k) {
#pragma unroll
        for (int c = 0; c < kKept; ++c) rows[d][k][c] = rows[d][k + S][c];
      }
    }
  }
};

template <class R, class T, int KD, int K, int S, int PL, int kOut, bool kAnywhere>
__global__ void __launch_bounds__(256, kStripBlocks<kOut>)
    strip(const __grid_constant__ StripGeometry g, const T* __restrict__ x, T* __restrict__ y, const R r) {
  using Row = StripRow<T, K, S, PL, kOut, kAnywhere>;
  using A = typename R::A;
  using Window = StripWindow<R, KD, K, S, kOut, Row::kColumns>;
  const StripPlace place = strip_place<S>(g);
  const int first = place.group * kOut, left = first * S - PL;
  const int width = g.in_columns, height = g.in_rows;
  const T* volume = x + place.plane * g.x_plane + static_cast<index_t>(place.depth) * KD * g.x_depth;
  T* out = y + place.plane * g.y_plane + place.depth * g.y_depth + first;

  Window window;
  const auto read = [&](int d, int row, int k) {
    A v[Row::kColumns];
    const bool there = row >= 0 && row < height;
    const T* at = volume + d * g.x_depth + static_cast<index_t>(row) * g.x_row;
    Row::read(r, readable(g.x_run, x, at, width), place, at, there, left, width, v);
    window.take(r, d, k, v);
  };
  index_t along[kOut] = {};
#pragma unroll
  for (int o = 0; o < kOut; ++o) along[o] = g.divisor > 0 ? g.divisor : g.columns.taps<K>(left + o * S) * KD;

  int row = place.first_row * S + g.first_row;
#pragma unroll
  for (int d = 0; d < KD; ++d) {
#pragma unroll
    for (int k = 0; k < K - S; ++k) read(d, row + k, k);
  }
#pragma unroll 2  // loads of two rows of outputs are under way together
  for (int i = 0; i < kStripRows<S>; ++i, row += S) {
    const int o_row = place.first_row + i;
#pragma unroll
    for (int d = 0; d < KD; ++d) {
#pragma unroll
      for (int k = K - S < 0 ? 0 : K - S; k < K; ++k) read(d, row + k, k);
    }
    A folded[Window::kKept];
#pragma unroll
    for (int c = 0; c < Window::kKept; ++c) folded[c] = window.fold(r, c);
    const index_t across = g.divisor > 0 ? 1 : g.rows.taps<K>(row);
    Pack<T, kOut> result;
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      result.at[o] = r.lower(Window::output(r, folded, o), max(index_t{1}, along[o] * across));
    }
    Row::store(g, place, out + static_cast<index_t>(o_row) * g.y_row, first, place.active && o_row < g.out_rows,
               result);
    window.advance();
  }
}

/// The same for extrema with their indices.
template <class T, int K, int S, int PL, int kOut, bool kAnywhere>
__global__ void __launch_bounds__(256, kStripBlocks<kOut>)
    strip_codes(const __grid_constant__ StripGeometry g, const T* __restrict__ x, T* __restrict__ y,
                const Extreme<T> r) {
  using Row = StripRow<T, K, S, PL, kOut, kAnywhere>;
  using A = typename Extreme<T>::A;
  const StripPlace place = strip_place<S>(g);
  const int first = place.group * kOut, left = first * S - PL;
  const int width = g.in_columns, height = g.in_rows;
  const T* plane = x + place.plane * g.x_plane;
  ExtremumRows<T, K, S, kOut> extrema;
  const auto read = [&](int row, int k) {
    A v[Row::kColumns];
    const bool there = row >= 0 && row < height;
    const T* at = plane + static_cast<index_t>(row) * g.x_row;
    Row::read(r, readable(g.x_run, x, at, width), place, at, there, left, width, v);
    extrema.take(r, k, v, there, left, width);
  };
  int row = place.first_row * S + g.first_row;
#pragma unroll
  for (int k = 0; k < K - S; ++k) read(row + k, k);
#pragma unroll 2  // loads of two rows of outputs are under way together
  for (int i = 0; i < kStripRows<S>; ++i, row += S) {
    const int o_row = place.first_row + i;
#pragma unroll
    for (int k = K - S < 0 ? 0 : K - S; k < K; ++k) read(row + k, k);
    Pack<T, kOut> result;
    int code[kOut];  // of the tap, row-major in the window
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      A value;
      code[o] = extrema.code(o, value);
      result.at[o] = r.lower(value, 1);
    }
    const bool made = place.active && o_row < g.out_rows;
    const index_t at = place.plane * g.y_plane + static_cast<index_t>(o_row) * g.y_row + first;
    if (y != nullptr) Row::store(g, place, y + at, first, made, result);
    if (made) {
      const int end = g.out_columns;
      const PlanePitches &to = g.index.pitch, &step = g.index.number;
      store_indices<kOut>(g.index, place.plane * to.plane + o_row * to.row + first, first, end, code, [&](int o) {
        return place.plane * step.plane + (row + code[o] / K) * step.row + (left + o * S + code[o] % K) * step.column;
      });
    }
    extrema.advance();
  }
}

}  // namespace oriel::cuda
