// Kernel "direct": one thread for each output reads its window from global memory, whose caches hold what neighbours
// share. Small windows along one to three axes, any pitch, any step and dilation.
#pragma once

#include "cuda/device/reductions.cuh"
#include "cuda/index.cuh"
#include "cuda/tree.cuh"

namespace oriel::cuda {

/// Axes of a window, from the outermost in the order of its taps: for extrema as in memory (S4), for sums the other way
/// round (S8). Those that a problem lacks come first, with one tap.
inline constexpr int kDirectAxes = 3;
/// Levels of the trees along the second and third axis: fewer than 2^6 taps.
inline constexpr int kDirectLevels = 6;
inline constexpr index_t kMostDirectTaps = (index_t{1} << kDirectLevels) - 1;

struct DirectAxis {
  int in = 1, kernel = 1, stride = 0, first = 0, dilation = 1;
  int counted_begin = 0, counted_end = 1;  // coordinates that an average counts (S5)
  int pooled = -1;                         // its number among the pooled axes; -1: none
  index_t pitch = 0;
};

struct DirectGeometry {
  Walk<std::uint32_t> walk;
  DirectAxis axis[kDirectAxes];
  index_t divisor = 0;  // fixed; 0: counted
  Windows windows;      // for indices
  Indices indices;
};

/// Taps [begin, end) of a window, and where its tap 0 is.
struct DirectSpan {
  int begin, end, start;
};

/// The taps of a window that begins at `start` whose coordinates are in [begin, end).
__device__ __forceinline__ DirectSpan taps_within(const DirectAxis& a, int start, int begin, int end) {
  DirectSpan s{0, a.kernel, start};
  if (start < begin) s.begin = a.dilation == 1 ? begin - start : (begin - start + a.dilation - 1) / a.dilation;
  const int room = end - start;  // coordinates before the end
  const int fit = room <= 0 ? 0 : a.dilation == 1 ? room : (room - 1) / a.dilation + 1;
  s.end = fit < s.end ? fit : s.end;
  if (s.begin > s.end) s.begin = s.end;
  return s;
}

struct DirectWindow {
  DirectSpan span[kDirectAxes];
  index_t divisor = 1;
};

__device__ __forceinline__ DirectWindow direct_window(const DirectGeometry& g, const Place& place) {
  DirectWindow w;
#pragma unroll
  for (int i = 0; i < kDirectAxes; ++i) {
    const DirectAxis& a = g.axis[i];
    int along = 0;
#pragma unroll
    for (int p = 0; p < kDirectAxes; ++p) along = p == a.pooled ? static_cast<int>(place.along[p]) : along;
    const int start = along * a.stride + a.first;
    w.span[i] = taps_within(a, start, 0, a.in);
    const DirectSpan counted = taps_within(a, start, a.counted_begin, a.counted_end);
    w.divisor *= counted.end - counted.begin;
  }
  if (g.divisor > 0) w.divisor = g.divisor;
  return w;
}

/// The extremum of each window, and its index. Every window has a tap.
template <class R, class T, bool kIndexed>
__global__ void __launch_bounds__(256)
    direct_extremum(const __grid_constant__ DirectGeometry g, const T* __restrict__ x, T* __restrict__ y, R r) {
  const std::uint32_t number = thread_number<std::uint32_t>();
  if (number >= g.walk.count) return;
  const Place place = place_of(g.walk, number);
  const DirectWindow w = direct_window(g, place);
  const index_t step = g.axis[2].dilation * g.axis[2].pitch;
  typename R::A best = r.none();
  int code = -1;
  for (int i = w.span[0].begin; i < w.span[0].end; ++i) {
    const T* plane = x + place.offset[kSeen] + (w.span[0].start + i * g.axis[0].dilation) * g.axis[0].pitch;
    for (int j = w.span[1].begin; j < w.span[1].end; ++j) {
      const T* row = plane + (w.span[1].start + j * g.axis[1].dilation) * g.axis[1].pitch +
                     (w.span[2].start + w.span[2].begin * g.axis[2].dilation) * g.axis[2].pitch;
      const int first = (i * g.axis[1].kernel + j) * g.axis[2].kernel;
#pragma unroll 4
      for (int k = w.span[2].begin; k < w.span[2].end; ++k, row += step) {
        const typename R::A v = r.lift(load(row));
        if constexpr (kIndexed) {
          if (code < 0 || beats(v, best)) {
            best = v;
            code = first + k;
          }
        } else {
          best = code < 0 ? v : r.combine(best, v);
          code = 0;
        }
      }
    }
  }
  if (y != nullptr) store(y + place.offset[kMade], r.lower(best, 1));
  if constexpr (kIndexed) store_index(g.windows, g.indices, place, code);
}

/// Sums of values that come one by one, in the order of S8.
template <class R>
struct DirectTree {
  typename R::A kept[kDirectLevels]{};
  int count = 0;

  __device__ __forceinline__ void add(const R& r, typename R::A value) {
    bool carries = true;
#pragma unroll
    for (int l = 0; l < kDirectLevels; ++l) {
      if (carries && (count >> l & 1) != 0) {
        value = r.combine(kept[l], value);
      } else if (carries) {
        kept[l] = value;
        carries = false;
      }
    }
    ++count;
  }
  __device__ __forceinline__ typename R::A sum(const R& r) const {
    typename R::A sum = r.none();
    bool first = true;
#pragma unroll
    for (int l = kDirectLevels - 1; l >= 0; --l) {
      if ((count >> l & 1) == 0) continue;
      sum = first ? kept[l] : r.combine(sum, kept[l]);
      first = false;
    }
    return sum;
  }
};

/// Sums and averages: along the first axis first (S8).
template <class R, class T>
__global__ void __launch_bounds__(256)
    direct_sum(const __grid_constant__ DirectGeometry g, const T* __restrict__ x, T* __restrict__ y, R r) {
  const std::uint32_t number = thread_number<std::uint32_t>();
  if (number >= g.walk.count) return;
  const Place place = place_of(g.walk, number);
  const DirectWindow w = direct_window(g, place);
  const DirectAxis &outer = g.axis[0], &middle = g.axis[1], &inner = g.axis[2];
  const DirectSpan os = w.span[0], ms = w.span[1], is = w.span[2];
  const index_t step = inner.dilation * inner.pitch;
  const T* const base = x + place.offset[kSeen] + is.start * inner.pitch;
  DirectTree<R> planes;
  for (int o = 0; o < outer.kernel; ++o) {
    DirectTree<R> rows;
    for (int m = 0; m < middle.kernel; ++m) {
      typename R::A value = r.none();
      if (o >= os.begin && o < os.end && m >= ms.begin && m < ms.end) {
        const T* const from =
            base + (os.start + o * outer.dilation) * outer.pitch + (ms.start + m * middle.dilation) * middle.pitch;
        value = fold_tree<3>(r, inner.kernel, [&](int t) {
          return t >= is.begin && t < is.end ? r.lift(load(from + t * step)) : r.none();
        });
      }
      rows.add(r, value);
    }
    planes.add(r, rows.sum(r));
  }
  store(y + place.offset[kMade], r.lower(planes.sum(r), w.divisor));
}

}  // namespace oriel::cuda
