// The two folds, written once for every instruction set, lane type and reduction. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_FOLD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_FOLD_INL_H
#undef ORIEL_CPU_ELEMENT_FOLD_INL_H
#else
#define ORIEL_CPU_ELEMENT_FOLD_INL_H
#endif

#include "cpu/element/kinds.h"
#include "cpu/simd/scalar_loop.h"
#include "hwy/highway.h"
#include "reduction.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Reductions on vectors. `Max` and `Min` suit rows without NaN and negative zeros (see ScanRow).
struct Max {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::Max(a, b);
  }
};
struct Min {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::Min(a, b);
  }
};
struct Sum {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::Add(a, b);
  }
};

constexpr int floor_power_of_two(int k) { return k < 2 ? 1 : 2 * floor_power_of_two(k / 2); }

// The S8 tree over v[0 .. K): P2m(a) = Pm(a) + Pm(a+m); other sizes add their powers of two, largest first.
template <class R, int K, class V>
HWY_INLINE V fold_tree(const V* v) {
  if constexpr (K == 1) {
    return v[0];
  } else if constexpr (K == floor_power_of_two(K)) {
    return R::combine(fold_tree<R, K / 2>(v), fold_tree<R, K / 2>(v + K / 2));
  } else {
    constexpr int M = floor_power_of_two(K);
    constexpr int M2 = floor_power_of_two(K - M);
    const V head = R::combine(fold_tree<R, M>(v), fold_tree<R, M2>(v + M));
    if constexpr (K - M == M2) {
      return head;
    } else {
      static_assert(K - M - M2 == 1, "blocks have at most 8 taps");
      return R::combine(head, v[K - 1]);
    }
  }
}

template <class R, int K, class D>
HWY_INLINE void fold_rows_at(D d, const hn::TFromD<D>* const* rows, index_t i, hn::TFromD<D>* out) {
  hn::Vec<D> v[K];
  for (int t = 0; t < K; ++t) v[t] = hn::LoadU(d, rows[t] + i);
  hn::StoreU(fold_tree<R, K>(v), d, out + i);
}

// Vectors of T no longer than 16 bytes: for rows shorter than the longest ones.
template <class T>
using ShortTag = hn::CappedTag<T, 16 / sizeof(T)>;
template <class T>
constexpr bool kHasVectors = hn::MaxLanes(hn::ScalableTag<T>()) > 1;
/// Whether those are others.
template <class T>
constexpr bool kHasShortVectors = hn::MaxLanes(ShortTag<T>()) < hn::MaxLanes(hn::ScalableTag<T>());

// Calls at(i) for vectors of so many lanes at i that cover n >= lanes elements; the last one overlaps the one before.
// `at` is compiled once: the last vector comes from another turn of the loop, which has one jump a turn. With two, at
// the end and over its condition, maxima of three floats in a row took 1.3 times as long by AVX2.
template <class At>
HWY_INLINE void cover_from(index_t lanes, index_t n, const At& at) {
  const index_t last = n - lanes;
  for (index_t i = 0;; i = last) {
    do {
      ORIEL_SPARE_SCALAR_LOOP;
      at(i);
      i += lanes;
    } while (i <= last);
    if (i >= n) return;
  }
}

// The same by vectors D.
template <class D, class At>
HWY_INLINE void cover_by(D d, index_t n, const At& at) {
  cover_from(static_cast<index_t>(hn::Lanes(d)), n, [&](index_t i) HWY_ATTR { at(d, i); });
}

// Calls at(d, i) for vectors that cover a row, as long as it allows; true unless it fills none.
template <class T, class At>
HWY_INLINE bool cover_vectors([[maybe_unused]] index_t n, [[maybe_unused]] const At& at) {
  if constexpr (kHasVectors<T>) {
    const hn::ScalableTag<T> d;
    if (n >= static_cast<index_t>(hn::Lanes(d))) {
      cover_by(d, n, at);
      return true;
    }
  }
  if constexpr (kHasShortVectors<T>) {
    const ShortTag<T> few;
    if (n >= static_cast<index_t>(hn::Lanes(few))) {
      cover_by(few, n, at);
      return true;
    }
  }
  return false;
}

// The same, by single elements if it must be.
template <class T, class At>
HWY_INLINE void cover(index_t n, const At& at) {
  if (cover_vectors<T>(n, at)) return;
  const hn::CappedTag<T, 1> d1;
  for (index_t i = 0; i < n; ++i) {
    ORIEL_SPARE_SCALAR_LOOP;
    at(d1, i);
  }
}

// Whether a row fills a vector of 16 bytes; shorter ones have one code for all numbers of taps.
template <class T>
HWY_INLINE bool fills_vector(index_t n) {
  return kHasVectors<T> && n >= static_cast<index_t>(hn::Lanes(ShortTag<T>()));
}

// The tree of S8 at one place, for any number of taps.
template <class R, class V>
HWY_INLINE V fold_few(const V* v, int count) {
  switch (count) {
    case 1:
      return v[0];
    case 2:
      return fold_tree<R, 2>(v);
    case 3:
      return fold_tree<R, 3>(v);
    case 4:
      return fold_tree<R, 4>(v);
    case 5:
      return fold_tree<R, 5>(v);
    case 6:
      return fold_tree<R, 6>(v);
    case 7:
      return fold_tree<R, 7>(v);
    default:
      return fold_tree<R, 8>(v);
  }
}

template <class R, class T>
HWY_NOINLINE void fold_short_rows(const RowIn* rows, int count, index_t n, T* out) {
  const hn::CappedTag<T, 1> d;
  for (index_t i = 0; i < n; ++i) {
    hn::Vec<decltype(d)> v[kMaxFold];
    for (int t = 0; t < count; ++t) v[t] = hn::LoadU(d, static_cast<const T*>(rows[t].value) + i);
    hn::StoreU(fold_few<R>(v, count), d, out + i);
  }
}

template <class R, class T, int K>
HWY_INLINE void fold_rows_of(const RowIn* in, index_t n, T* HWY_RESTRICT out) {
  const T* rows[K];
  for (int t = 0; t < K; ++t) rows[t] = static_cast<const T*>(in[t].value);
  cover_vectors<T>(n, [&](auto d, index_t i) HWY_ATTR { fold_rows_at<R, K>(d, rows, i, out); });
}

template <class R, class T>
void fold_rows(const RowIn* rows, int count, index_t n, RowOut out) {
  T* y = static_cast<T*>(out.value);
  if (!fills_vector<T>(n)) return fold_short_rows<R, T>(rows, count, n, y);
  switch (count) {
    case 1:
      return fold_rows_of<R, T, 1>(rows, n, y);
    case 2:
      return fold_rows_of<R, T, 2>(rows, n, y);
    case 3:
      return fold_rows_of<R, T, 3>(rows, n, y);
    case 4:
      return fold_rows_of<R, T, 4>(rows, n, y);
    case 5:
      return fold_rows_of<R, T, 5>(rows, n, y);
    case 6:
      return fold_rows_of<R, T, 6>(rows, n, y);
    case 7:
      return fold_rows_of<R, T, 7>(rows, n, y);
    default:
      return fold_rows_of<R, T, 8>(rows, n, y);
  }
}

template <class R, class D>
HWY_INLINE void fold_left_at(D d, const RowIn* rows, int count, index_t i, hn::TFromD<D>* out) {
  using T = hn::TFromD<D>;
  hn::Vec<D> acc = hn::LoadU(d, static_cast<const T*>(rows[0].value) + i);
  for (int t = 1; t < count; ++t) acc = R::combine(acc, hn::LoadU(d, static_cast<const T*>(rows[t].value) + i));
  hn::StoreU(acc, d, out + i);
}

template <class R, class T>
void fold_left(const RowIn* rows, int count, index_t n, RowOut out) {
  T* HWY_RESTRICT y = static_cast<T*>(out.value);
  cover<T>(n, [&](auto d, index_t i) HWY_ATTR { fold_left_at<R>(d, rows, count, i, y); });
}

// Windows that step by 2 from number `begin` on, one after the other.
template <class R, class T>
HWY_NOINLINE void fold_windows_each(const T* x, int kernel, index_t begin, index_t end, T* out) {
  const hn::CappedTag<T, 1> d;
  for (index_t o = begin; o < end; ++o) {
    hn::Vec<decltype(d)> v[kMaxFold];
    for (int t = 0; t < kernel; ++t) v[t] = hn::LoadU(d, x + 2 * o + t);
    hn::StoreU(fold_few<R>(v, kernel), d, out + o);
  }
}

// Windows of K taps that step by 2: even and odd taps are split on load, once per pair of taps.
template <class R, int K, class D>
HWY_INLINE void fold_windows_at(D d, const hn::TFromD<D>* x, index_t o, hn::TFromD<D>* out) {
  hn::Vec<D> v[K + 1];
  for (int t = 0; t < K; t += 2) hn::LoadInterleaved2(d, x + 2 * o + t, v[t], v[t + 1]);
  hn::StoreU(fold_tree<R, K>(v), d, out + o);
}

template <class R, class T, int K>
HWY_INLINE void fold_windows_of(const T* x, index_t n, T* HWY_RESTRICT out, bool slack) {
  const index_t safe = K % 2 == 0 || slack ? n : n - 1;  // an odd K's last load reaches one element further
  const bool covered = cover_vectors<T>(safe, [&](auto d, index_t o) HWY_ATTR { fold_windows_at<R, K>(d, x, o, out); });
  const index_t done = covered ? safe : 0;
  if (done < n) fold_windows_each<R>(x, K, done, n, out);
}

template <class R, class T>
void fold_windows(RowIn row, int kernel, index_t n, RowOut out, bool slack) {
  const T* x = static_cast<const T*>(row.value);
  T* y = static_cast<T*>(out.value);
  if (!kHasVectors<T>) return fold_windows_each<R>(x, kernel, 0, n, y);
  switch (kernel) {
    case 2:
      return fold_windows_of<R, T, 2>(x, n, y, slack);
    case 3:
      return fold_windows_of<R, T, 3>(x, n, y, slack);
    case 4:
      return fold_windows_of<R, T, 4>(x, n, y, slack);
    case 5:
      return fold_windows_of<R, T, 5>(x, n, y, slack);
    case 6:
      return fold_windows_of<R, T, 6>(x, n, y, slack);
    case 7:
      return fold_windows_of<R, T, 7>(x, n, y, slack);
    default:
      return fold_windows_of<R, T, 8>(x, n, y, slack);
  }
}

template <class R, class T>
FoldKernels fold_kernels() {
  return {&fold_rows<R, T>, &fold_left<R, T>, &fold_windows<R, T>};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
