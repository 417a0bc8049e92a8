// Kernel "stream": large windows along rows that are contiguous (NCHW), one pass over memory whatever their size. A
// block walks down a band of a plane; along either axis windows are made by doubling, so a window of k taps costs
// log2(k) combinations and one for each further bit of k, and the bits are those of S8. Across rows the partial folds
// of k + log2(k) rows are kept in shared memory, each column by one thread; along rows threads exchange them.
#pragma once

#include "cuda/device/divider.h"
#include "cuda/device/reductions.cuh"
#include "oriel/window.h"

namespace oriel::cuda {

inline constexpr int kStreamThreads = 256;
/// Input rows that are taken between two barriers.
inline constexpr int kBatch = 4;
/// Most levels of doubling: windows below 2^11 along an axis.
inline constexpr int kLevels = 11;

struct StreamGeometry {
  Axis h, w;
  int tile = 0;     // outputs of a block along a row
  int columns = 0;  // inputs that they look at
  int band = 0;     // rows of outputs of a block
  Divider<std::uint32_t> tiles, bands;
  index_t x_plane = 0, y_plane = 0, x_row = 0, y_row = 0;
  bool count_include_pad = true;
  index_t divisor = 0;
};

/// Levels of doubling for k taps, the last one included.
ORIEL_HD constexpr int levels_of(int k) {
  int n = 1;
  while (k >> n != 0) ++n;
  return n;
}
/// Rows of level l that are kept for windows of k rows: until the next level, or the window's end, has used them.
ORIEL_HD constexpr int kept_rows(int k, int level) {
  const bool last = level + 1 == levels_of(k);
  return last ? k - (1 << level) + 1 : (1 << level) + 1;
}
ORIEL_HD constexpr int all_kept_rows(int k) {
  int rows = 0;
  for (int l = 0; l < levels_of(k); ++l) rows += kept_rows(k, l);
  return rows;
}

/// Shared elements of a block: kept rows of `kept` columns, and the levels of a batch of rows.
ORIEL_HD constexpr int stream_elements(int kernel_h, int kernel_w, int kept, int columns) {
  return all_kept_rows(kernel_h) * kept + levels_of(kernel_w) * kBatch * columns;
}

/// One column of a block's rows: folds of k rows from the rows that come one after another.
template <class R>
struct ColumnFold {
  using A = typename R::A;

  // Takes row number `row`; returns the fold of the last k rows, which is one only from row k - 1 on.
  static __device__ __forceinline__ A take(const R& r, A* kept, int pitch, int k, int row, A value) {
    A level[kLevels];
    A* ring[kLevels];
    const int levels = levels_of(k);
    A newest = value;
#pragma unroll
    for (int l = 0; l < kLevels; ++l) {
      if (l >= levels) break;
      const int rows = kept_rows(k, l), start = row - (1 << l) + 1;
      ring[l] = kept;
      if (l > 0 && start >= 0) {
        const int before = kept_rows(k, l - 1);
        newest = r.combine(ring[l - 1][(start % before) * pitch], level[l - 1]);
      }
      level[l] = newest;
      if (start >= 0) kept[(start % rows) * pitch] = newest;
      kept += rows * pitch;
    }
    int at = row - k + 1;
    if (at < 0) return value;
    A sum{};
    bool first = true;
#pragma unroll
    for (int l = kLevels - 1; l >= 0; --l) {
      if (l >= levels || (k >> l & 1) == 0) continue;
      const A part = ring[l][(at % kept_rows(k, l)) * pitch];
      sum = first ? part : r.combine(sum, part);
      first = false;
      at += 1 << l;
    }
    return sum;
  }
};

/// Windows of k along rows of shared memory: level 0 of `rows` is given, the others are made. All threads call it.
template <class R, class A>
__device__ __forceinline__ void double_rows(const R& r, A* levels, int k, int columns) {
  const int size = kBatch * columns;
  for (int l = 1; l < levels_of(k); ++l) {
    const A* from = levels + (l - 1) * size;
    const int step = 1 << (l - 1);
    for (int b = 0; b < kBatch; ++b) {
      for (int c = static_cast<int>(threadIdx.x); c + 2 * step <= columns; c += kStreamThreads) {
        levels[l * size + b * columns + c] = r.combine(from[b * columns + c], from[b * columns + c + step]);
      }
    }
    __syncthreads();
  }
}

template <class R, class A>
__device__ __forceinline__ A join_levels(const R& r, const A* levels, int k, int columns, int row, int column) {
  const int size = kBatch * columns;
  const A* at = levels + row * columns + column;
  A sum{};
  bool first = true;
  for (int l = levels_of(k) - 1; l >= 0; --l) {
    if ((k >> l & 1) == 0) continue;
    sum = first ? at[l * size] : r.combine(sum, at[l * size]);
    first = false;
    at += 1 << l;
  }
  return sum;
}

/// Level 0 of a batch of rows: the elements, or where rows are not folded first, the folds of k rows of each column.
template <class R, class A, class Element>
__device__ __forceinline__ void take_batch(const R& r, int batch, int k, int columns, A* kept, A* levels,
                                           const Element& element) {
  for (int c = static_cast<int>(threadIdx.x); c < columns; c += kStreamThreads) {
    if constexpr (!R::kRowsFirst) {
      A value[kBatch];
#pragma unroll
      for (int b = 0; b < kBatch; ++b) value[b] = element(batch + b, c);
#pragma unroll
      for (int b = 0; b < kBatch; ++b) {
        levels[b * columns + c] = ColumnFold<R>::take(r, kept + c, columns, k, batch + b, value[b]);
      }
    } else {
#pragma unroll
      for (int b = 0; b < kBatch; ++b) levels[b * columns + c] = element(batch + b, c);
    }
  }
}

template <class T>
__device__ __forceinline__ index_t taps_along(const Axis& axis, const StreamGeometry& g, index_t o) {
  return axis.full().contains(o) ? axis.kernel : axis.divisor(o, g.count_include_pad);
}

template <class R, class T>
__global__ void __launch_bounds__(kStreamThreads, 2)
    stream(const __grid_constant__ StreamGeometry g, const T* __restrict__ x, T* __restrict__ y, const R r) {
  using A = typename R::A;
  std::uint32_t n = blockIdx.x;
  const int first = static_cast<int>(g.tiles.take(n)) * g.tile;
  const int top = static_cast<int>(g.bands.take(n)) * g.band;
  const T* plane = x + static_cast<index_t>(n) * g.x_plane;
  T* out = y + static_cast<index_t>(n) * g.y_plane;
  const int kh = static_cast<int>(g.h.kernel), kw = static_cast<int>(g.w.kernel);
  const int outs = min(g.tile, static_cast<int>(g.w.out) - first);
  const int bottom = min(top + g.band, static_cast<int>(g.h.out));
  const int left = static_cast<int>(g.w.start(first)), upper = static_cast<int>(g.h.start(top));
  const int rows = static_cast<int>(g.h.start(bottom - 1)) - upper + kh;
  const int kept_columns = R::kRowsFirst ? g.tile : g.columns;
  A* kept = reinterpret_cast<A*>(dynamic_shared);
  A* levels = kept + all_kept_rows(kh) * kept_columns;

  const auto element = [&](int row, int column) {
    const int i = upper + row, c = left + column;
    const bool there = row < rows && i >= 0 && i < g.h.in && c >= 0 && c < g.w.in;
    return there ? r.lift(load(plane + static_cast<index_t>(i) * g.x_row + c)) : r.none();
  };
  const auto emit = [&](int row, int o, A value) {  // of the window whose last row is `row`
    const index_t out_row = g.h.stride == 1 ? top + row - kh + 1 : top + (row - kh + 1) / g.h.stride;
    const index_t o_column = first + o;
    const index_t divisor =
        g.divisor > 0 ? g.divisor : taps_along<T>(g.h, g, out_row) * taps_along<T>(g.w, g, o_column);
    store(out + out_row * g.y_row + o_column, r.lower(value, divisor));
  };
  const auto ends_window = [&](int row) {
    return row >= kh - 1 && row < rows && (g.h.stride == 1 || (row - kh + 1) % g.h.stride == 0);
  };

  for (int batch = 0; batch < rows; batch += kBatch) {
    take_batch(r, batch, kh, g.columns, kept, levels, element);
    __syncthreads();
    double_rows(r, levels, kw, g.columns);
    for (int o = static_cast<int>(threadIdx.x); o < outs; o += kStreamThreads) {
      const int column = static_cast<int>(g.w.start(first + o)) - left;
      for (int b = 0; b < kBatch; ++b) {
        const int row = batch + b;
        if constexpr (R::kRowsFirst) {
          const A value = join_levels(r, levels, kw, g.columns, b, column);
          const A whole = ColumnFold<R>::take(r, kept + o, kept_columns, kh, row, value);
          if (ends_window(row)) emit(row, o, whole);
        } else if (ends_window(row)) {
          emit(row, o, join_levels(r, levels, kw, g.columns, b, column));
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace oriel::cuda
