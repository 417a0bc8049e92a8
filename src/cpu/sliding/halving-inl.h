// What long extrema and sums share. Rows that are not folded across are copied, the next tile's on their way to the
// second cache meanwhile. Along rows, while a step is even, two neighbours become one and the step half as long: the
// tree of S8 pairs elements 2^l apart at multiples of 2^l, so nothing is added in another order, or for no window.
// Included once per target.
#if defined(ORIEL_CPU_SLIDING_HALVING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_SLIDING_HALVING_INL_H
#undef ORIEL_CPU_SLIDING_HALVING_INL_H
#else
#define ORIEL_CPU_SLIDING_HALVING_INL_H
#endif

#include "cpu/element/fold-inl.h"
#include "cpu/sliding/sliding_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Every row of windows of one tap is its output; see(v) looks at its vectors.
template <class T, class See>
HWY_INLINE void copy_rows(const LongRows& b, const See& see) {
  for (index_t w = 0; w < b.windows; ++w) {
    if (b.out[w] == nullptr) continue;
    const T* HWY_RESTRICT x = static_cast<const T*>(b.rows[w]);
    T* HWY_RESTRICT to = static_cast<T*>(b.out[w]);
    const char* ahead = static_cast<const char*>(b.rows[w]) + b.n * static_cast<index_t>(sizeof(T));
    cover<T>(b.n, [&](auto d, index_t i) HWY_ATTR {
      const auto v = hn::LoadU(d, x + i);
      __builtin_prefetch(ahead + i * static_cast<index_t>(sizeof(T)), 0, 2);
      see(d, v);
      hn::StoreU(v, d, to + i);
    });
  }
}

// Of each 2^kLevels neighbours their fold by the tree of S8: as many of them as `d` has lanes.
template <class R, int kLevels, class D>
HWY_INLINE hn::Vec<D> fold_neighbours(D d, const hn::TFromD<D>* from) {
  if constexpr (kLevels == 0) {
    return hn::LoadU(d, from);
  } else {
    const auto low = fold_neighbours<R, kLevels - 1>(d, from);
    const auto high = fold_neighbours<R, kLevels - 1>(d, from + (static_cast<index_t>(hn::Lanes(d)) << (kLevels - 1)));
#if HWY_TARGET != HWY_SCALAR
    if constexpr (hn::MaxLanes(D()) > 1) {
      return R::combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
    }
#endif
    return R::combine(low, high);
  }
}

template <class R, int kLevels, class T>
HWY_INLINE void halve_row_by(const T* HWY_RESTRICT from, index_t n, T* HWY_RESTRICT to) {
  cover<T>(n, [&](auto d, index_t i)
                  HWY_ATTR { hn::StoreU(fold_neighbours<R, kLevels>(d, from + (i << kLevels)), d, to + i); });
}

constexpr int kMostHalvings = 3;  // at once, which stay in registers between

// to[i] = the fold of from[i * 2^levels] and what follows it. Reads no more than that.
template <class R, class T>
HWY_INLINE void halve_row(const T* HWY_RESTRICT from, int levels, index_t n, T* HWY_RESTRICT to) {
  if (levels == 1) return halve_row_by<R, 1>(from, n, to);
  if (levels == 2) return halve_row_by<R, 2>(from, n, to);
  halve_row_by<R, kMostHalvings>(from, n, to);
}

// How often a row can be halved before the windows of `kernel` taps, more than one, have another tap that is alone.
HWY_INLINE int halvings(index_t step, index_t kernel) {
  const auto bits = static_cast<std::uint64_t>(step | (kernel & ~index_t{1}) | index_t{1} << kMostHalvings);
  return std::countr_zero(bits);
}

// to[i] = from[i * step], or that combined with what is there.
template <class R, bool kCombine, class T>
HWY_INLINE void take_steps(const T* HWY_RESTRICT from, index_t step, index_t n, T* HWY_RESTRICT to) {
  const auto put = [&](auto d, auto v, index_t i)
                       HWY_ATTR { hn::StoreU(kCombine ? R::combine(hn::LoadU(d, to + i), v) : v, d, to + i); };
  index_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  if (step == 2) {
    for (; i + lanes < n; i += lanes) {  // the last vector would read one element too many
      put(d, hn::ConcatEven(d, hn::LoadU(d, from + 2 * i + lanes), hn::LoadU(d, from + 2 * i)), i);
    }
  }
#endif
  const hn::CappedTag<T, 1> one;
  for (; i < n; ++i) put(one, hn::LoadU(one, from + i * step), i);
}

/// Folds s, whose step is more than one; slide(row) folds rows by steps of one.
template <class R, class T, class Slide>
HWY_INLINE void fold_steps(const LongRow& s, const Slide& slide) {
  struct Rest {
    const T* from;
    index_t step;
  };
  Rest rest[64];  // taps that have no neighbour: of the windows' powers of two the smallest first
  int rests = 0;
  LongRow row = s;
  T* room = static_cast<T*>(s.scratch);
  while (row.step % 2 == 0 && row.kernel > 1) {
    const T* from = static_cast<const T*>(row.row);
    if (row.kernel % 2 == 1) rest[rests++] = {from + row.kernel - 1, row.step};
    const int levels = halvings(row.step, row.kernel);
    row.step >>= levels;
    row.kernel >>= levels;
    const index_t places = (s.n - 1) * row.step + row.kernel;
    halve_row<R>(from, levels, places, room);
    row.row = room;
    room += stepping_row_elems(places, sizeof(T));
  }
  const index_t step = row.step;
  T* out = static_cast<T*>(s.out);
  row.step = 1;
  if (step > 1) {
    row.n = (s.n - 1) * step + 1;
    row.out = room;
    room += stepping_row_elems(row.n, sizeof(T));
  }
  row.scratch = room;
  slide(row);
  if (step > 1) take_steps<R, false>(static_cast<const T*>(row.out), step, s.n, out);
  while (rests-- > 0) take_steps<R, true>(rest[rests].from, rest[rests].step, s.n, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
