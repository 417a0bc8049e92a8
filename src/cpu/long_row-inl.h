// What long extrema and sums share. Rows that are not folded across are copied, the next tile's on their way to the
// second cache meanwhile. Along rows, while a step is even, two neighbours become one and the step half as long: the
// tree of S8 pairs elements 2^l apart at multiples of 2^l, so nothing is added in another order, or for no window.
// Included once per target.
#if defined(ORIEL_CPU_LONG_ROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_LONG_ROW_INL_H
#undef ORIEL_CPU_LONG_ROW_INL_H
#else
#define ORIEL_CPU_LONG_ROW_INL_H
#endif

#include "cpu/fold-inl.h"
#include "cpu/long_kernels.h"

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

// to[i] = from[2i] and from[2i + 1] combined. Reads and writes whole vectors.
template <class R, class T>
HWY_INLINE void halve_row(const T* HWY_RESTRICT from, index_t n, T* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  const hn::CappedTag<T, 1> d;
  for (index_t i = 0; i < n; ++i) {
    hn::StoreU(R::combine(hn::LoadU(d, from + 2 * i), hn::LoadU(d, from + 2 * i + 1)), d, to + i);
  }
#else
  const hn::ScalableTag<T> d;
  const index_t lanes = static_cast<index_t>(hn::Lanes(d));
  for (index_t i = 0; i < n; i += lanes) {
    const auto low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + lanes);
    hn::StoreU(R::combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)), d, to + i);
  }
#endif
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
    for (; i + lanes <= n; i += lanes) {
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
    row.step /= 2;
    row.kernel /= 2;
    const index_t places = (s.n - 1) * row.step + row.kernel;
    halve_row<R>(from, places, room);
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
