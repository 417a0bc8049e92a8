// Folds of one window by one thread: the tree of S8 for sums, the scan of S3 and S4 for extrema. Any rank, any window.
#pragma once

#include "cuda/device/numbers.cuh"
#include "cuda/places.cuh"

namespace oriel::cuda {

/// Levels that the trees of all axes can need together: a window has fewer than 2^63 taps.
inline constexpr int kTreeDepth = 63 + kMaxPooledAxes;

template <class A>
__device__ __forceinline__ A add(A a, A b) {
  if constexpr (std::is_same_v<A, std::int64_t>)  // wraps (S7)
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}

/// What an absent tap counts as: -0.0 changes no sum.
template <class A>
__device__ __forceinline__ A absent() {
  return static_cast<A>(-0.0);
}

/// Where a window's taps are, axis by axis.
struct Window {
  index_t width[kMaxPooledAxes];  // nominal taps
  index_t place[kMaxPooledAxes];  // of tap 0
  index_t taps = 1;               // that exist
};

__device__ __forceinline__ Window window_of(const Windows& windows, const index_t* along) {
  Window w;
  for (int a = 0; a < windows.pooled; ++a) {
    w.width[a] = windows.axis[a].width(along[a]);
    w.place[a] = windows.axis[a].start(along[a]);
    w.taps *= windows.axis[a].taps(along[a]).size();
  }
  return w;
}

/// The sum of term(input[]) over a window, in the order of S8: the first axis innermost, along each axis a tree kept as
/// a binary counter of partial sums. `input` numbers the element along each pooled axis.
template <class A, class Term>
__device__ A fold_sum(const Windows& windows, const Window& w, Term term) {
  A partial[kTreeDepth];
  int depth = 0;
  index_t tap[kMaxPooledAxes] = {}, input[kMaxPooledAxes];
  for (int a = 0; a < windows.pooled; ++a) {
    if (w.width[a] <= 0) return absent<A>();
    input[a] = windows.axis[a].input_at(w.place[a]);
  }
  for (;;) {
    int level = 0;
    for (int a = windows.pooled - 1; a > 0 && level == 0; --a) {
      if (input[a] < 0) level = a;  // nothing within: a whole part of the window is absent
    }
    A value = level == 0 && input[0] >= 0 ? term(input) : absent<A>();
    for (;;) {
      const index_t done = ++tap[level];
      for (index_t m = done; (m & 1) == 0; m >>= 1) value = add(partial[--depth], value);
      partial[depth++] = value;
      input[level] = windows.axis[level].input_at(w.place[level] + done * windows.axis[level].dilation);
      if (done < w.width[level]) break;
      int blocks = 0;  // the powers of two that make up the width
      for (index_t m = done; m != 0; m &= m - 1) ++blocks;
      depth -= blocks;
      value = partial[depth];
      for (int b = 1; b < blocks; ++b) value = add(value, partial[depth + b]);
      tap[level] = 0;
      input[level] = windows.axis[level].input_at(w.place[level]);
      if (++level == windows.pooled) return value;
    }
  }
}

/// The extremum of a window and the number of its tap.
template <class K>
struct Best {
  K key{};
  index_t offset = 0;  // of the element, along the pooled axes
  index_t code = -1;   // its tap in the largest window, row-major; -1: none
};

/// Scans a window in row-major order for the greatest key(element offset), which sets `use` to false for an element
/// that does not count. The first of equals stays (S4), of NaN the last (S3).
template <class K, class Key>
__device__ Best<K> scan_window(const Windows& windows, const index_t* along, Key key) {
  Best<K> best;
  Range range[kMaxPooledAxes];
  index_t tap[kMaxPooledAxes], start = 0, first_code = 0;
  const int last = windows.pooled - 1;
  for (int a = 0; a <= last; ++a) {
    const Axis& axis = windows.axis[a];
    range[a] = axis.taps(along[a]);
    if (range[a].empty()) return best;
    tap[a] = range[a].begin;
    start += axis.at(along[a], range[a].begin) * windows.pitch[a];
    first_code = first_code * axis.kernel + range[a].begin;
  }
  const Axis& inner = windows.axis[last];
  const index_t step = inner.dilation * windows.pitch[last];
  for (;;) {
    index_t offset = start;
    for (index_t t = range[last].begin; t < range[last].end; ++t, offset += step) {
      bool use = true;
      const K k = key(offset, use);
      if (!use) continue;
      if (best.code < 0 || k > best.key || is_nan(k)) {
        best = {k, offset, first_code + t - range[last].begin};
      }
    }
    int a = last - 1;
    index_t code_step = inner.kernel;
    for (; a >= 0; --a) {
      const index_t move = windows.axis[a].dilation * windows.pitch[a];
      if (++tap[a] < range[a].end) {
        start += move;
        first_code += code_step;
        break;
      }
      start -= (range[a].size() - 1) * move;
      first_code -= (range[a].size() - 1) * code_step;
      code_step *= windows.axis[a].kernel;
      tap[a] = range[a].begin;
    }
    if (a < 0) return best;
  }
}

}  // namespace oriel::cuda
