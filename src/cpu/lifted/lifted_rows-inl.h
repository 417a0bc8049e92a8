// Folds of elements where they lie, lifted as they are loaded, and of windows whose taps are runs of lanes. Included
// once per target.
#if defined(ORIEL_CPU_LIFTED_LIFTED_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_LIFTED_LIFTED_ROWS_INL_H
#undef ORIEL_CPU_LIFTED_LIFTED_ROWS_INL_H
#else
#define ORIEL_CPU_LIFTED_LIFTED_ROWS_INL_H
#endif

#include "cpu/element/fold-inl.h"
#include "cpu/element/load-inl.h"
#include "cpu/lifted/lifted_rows.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// The signed bits of infinity, for the watch.
template <class X>
constexpr auto infinity_bits() {
  if constexpr (std::is_same_v<X, double>)
    return std::int64_t{0x7ff0000000000000};
  else if constexpr (std::is_same_v<X, float>)
    return std::int32_t{0x7f800000};
  else
    return std::int16_t{std::is_same_v<X, bfloat16> ? 0x7f80 : 0x7c00};
}
template <class X>
using InfinityBits = decltype(infinity_bits<X>());

// Keys of f16 and bf16 have one code, which is told the infinity.
template <class Lift, class X>
using SharedElement = std::conditional_t<std::is_same_v<Lift, OrderKey>, half, X>;

template <class R, class Lift, class X, class A, bool kWatches>
HWY_NOINLINE bool fold_short_row(const void* const* rows, int count, index_t n, A* out, std::int64_t infinity) {
  const hn::CappedTag<A, 1> d;
  bool found = false;
  for (index_t i = 0; i < n; ++i) {
    hn::Vec<decltype(d)> v[kMaxFold];
    for (int t = 0; t < count; ++t) {
      const X* x = static_cast<const X*>(rows[t]) + i;
      v[t] = Lift::load(d, x);
      if constexpr (kWatches) {
        ElementWatch<X, decltype(d)> watch;
        watch.see(d, x);
        found |= watch.found(static_cast<InfinityBits<X>>(infinity));
      }
    }
    hn::StoreU(fold_few<R>(v, count), d, out + i);
  }
  return found;
}

// Folds K rows of at least Lanes(d) elements; looks for special values in the last kWatched of them.
template <class R, class Lift, class X, class A, int K, int kWatched, class D>
HWY_INLINE bool fold_elements_by(D d, const void* const* from, index_t n, A* HWY_RESTRICT out,
                                 [[maybe_unused]] std::int64_t infinity) {
  const X* rows[K];
  for (int t = 0; t < K; ++t) rows[t] = static_cast<const X*>(from[t]);
  if constexpr (kWatched == 0) {
    cover_by(d, n, [&](auto, index_t i) HWY_ATTR {
      hn::Vec<D> v[K];
      for (int t = 0; t < K; ++t) v[t] = Lift::load(d, rows[t] + i);
      hn::StoreU(fold_tree<R, K>(v), d, out + i);
    });
    return false;
  } else {
    ElementWatch<X, D> watch;
    cover_by(d, n, [&](auto, index_t i) HWY_ATTR {
      hn::Vec<D> v[K];
      for (int t = 0; t < K; ++t) v[t] = Lift::load(d, rows[t] + i);
      hn::StoreU(fold_tree<R, K>(v), d, out + i);
      for (int t = K - kWatched; t < K; ++t) watch.see(d, rows[t] + i);
    });
    return watch.found(static_cast<InfinityBits<X>>(infinity));
  }
}

template <class R, class Lift, class X, class A, bool kWatches, int K, int kWatched>
bool fold_elements_of(const void* const* rows, index_t n, A* out, std::int64_t infinity) {
  if constexpr (kHasVectors<A>) {
    const hn::ScalableTag<A> d;
    if (n >= static_cast<index_t>(hn::Lanes(d)))
      return fold_elements_by<R, Lift, X, A, K, kWatched>(d, rows, n, out, infinity);
  }
  if constexpr (kHasShortVectors<A>) {
    const ShortTag<A> few;
    if (n >= static_cast<index_t>(hn::Lanes(few)))
      return fold_elements_by<R, Lift, X, A, K, kWatched>(few, rows, n, out, infinity);
  }
  return fold_short_row<R, Lift, X, A, kWatches>(rows, K, n, out, infinity);
}

template <class A>
using FoldElementsOf = bool (*)(const void* const* rows, index_t n, A* out, std::int64_t infinity);

// Watching more rows than asked costs little, so there are few variants.
template <class R, class Lift, class X, class A, bool kWatches, int K>
FoldElementsOf<A> choose_watched(int watched) {
  if constexpr (kWatches) {
    if constexpr (K == 2 || K == 3) {
      if (watched == 1) return &fold_elements_of<R, Lift, X, A, kWatches, K, 1>;
    }
    if constexpr (K == 3) {
      if (watched == 2) return &fold_elements_of<R, Lift, X, A, kWatches, K, 2>;
    }
    if (watched > 0) return &fold_elements_of<R, Lift, X, A, kWatches, K, K>;
  }
  return &fold_elements_of<R, Lift, X, A, kWatches, K, 0>;
}

template <class R, class Lift, class X, class A, bool kWatches>
FoldElementsOf<A> choose_elements(int count, int watched) {
  switch (count) {
    case 1:
      return choose_watched<R, Lift, X, A, kWatches, 1>(watched);
    case 2:
      return choose_watched<R, Lift, X, A, kWatches, 2>(watched);
    case 3:
      return choose_watched<R, Lift, X, A, kWatches, 3>(watched);
    case 4:
      return choose_watched<R, Lift, X, A, kWatches, 4>(watched);
    case 5:
      return choose_watched<R, Lift, X, A, kWatches, 5>(watched);
    case 6:
      return choose_watched<R, Lift, X, A, kWatches, 6>(watched);
    case 7:
      return choose_watched<R, Lift, X, A, kWatches, 7>(watched);
    default:
      return choose_watched<R, Lift, X, A, kWatches, 8>(watched);
  }
}

template <class R, class Lift, class X, class A, bool kWatches>
bool fold_elements(const void* const* rows, int count, int watched, index_t n, void* out) {
  const FoldElementsOf<A> fold = choose_elements<R, Lift, SharedElement<Lift, X>, A, kWatches>(count, watched);
  return fold(rows, n, static_cast<A*>(out), infinity_bits<X>());
}

template <class R, class Lift, class X, class A, bool kWatches>
bool fold_element_steps(const void* from, int count, const StepShape& s, void* out) {
  const FoldElementsOf<A> fold = choose_elements<R, Lift, SharedElement<Lift, X>, A, kWatches>(count, count);
  const X* row = static_cast<const X*>(from);
  A* y = static_cast<A*>(out);
  bool found = false;
  for (index_t o = 0; o < s.n; ++o, row += s.step, y += s.out_pitch) {
    const void* rows[kMaxFold];
    for (int t = 0; t < count; ++t) rows[t] = row + t * s.apart;
    found |= fold(rows, s.lanes, y, infinity_bits<X>());
  }
  return found;
}

template <class R, class A, int K, class D>
HWY_INLINE void fold_steps_by(D d, const A* row, const StepShape& s, A* HWY_RESTRICT out) {
  for (index_t o = 0; o < s.n; ++o, row += s.step, out += s.out_pitch) {
    const A* rows[K];
    for (int t = 0; t < K; ++t) rows[t] = row + t * s.apart;
    cover_by(d, s.lanes, [&](auto, index_t i) HWY_ATTR { fold_rows_at<R, K>(d, rows, i, out); });
  }
}

template <class R, class A, int K>
void fold_steps_of(const A* row, const StepShape& s, A* out) {
  const hn::ScalableTag<A> d;  // there are kFewestStepLanes or more
  if constexpr (kHasShortVectors<A>) {
    if (s.lanes < static_cast<index_t>(hn::Lanes(d))) return fold_steps_by<R, A, K>(ShortTag<A>(), row, s, out);
  }
  fold_steps_by<R, A, K>(d, row, s, out);
}

template <class R, class A>
void fold_steps(const void* row, int count, const StepShape& asked, void* out) {
  const A* x = static_cast<const A*>(row);
  A* y = static_cast<A*>(out);
  StepShape s = asked;
  if (s.step == s.lanes && s.out_pitch == s.lanes) {  // one long run
    s.lanes *= s.n;
    s.n = 1;
  }
  switch (count) {
    case 1:
      return fold_steps_of<R, A, 1>(x, s, y);
    case 2:
      return fold_steps_of<R, A, 2>(x, s, y);
    case 3:
      return fold_steps_of<R, A, 3>(x, s, y);
    case 4:
      return fold_steps_of<R, A, 4>(x, s, y);
    case 5:
      return fold_steps_of<R, A, 5>(x, s, y);
    case 6:
      return fold_steps_of<R, A, 6>(x, s, y);
    case 7:
      return fold_steps_of<R, A, 7>(x, s, y);
    default:
      return fold_steps_of<R, A, 8>(x, s, y);
  }
}

template <class R, class Lift, class X, class A, bool kWatches = false>
ElementKernels element_kernels() {
  return {&fold_elements<R, Lift, X, A, kWatches>, &fold_element_steps<R, Lift, X, A, kWatches>, &fold_steps<R, A>};
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
