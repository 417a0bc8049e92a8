// Taps and vectors of the folds of planes: how many are folded at a time, and how vectors cover a row. Included once
// per target.
#if defined(ORIEL_CPU_ELEMENT_TAPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_TAPS_INL_H
#undef ORIEL_CPU_ELEMENT_TAPS_INL_H
#else
#define ORIEL_CPU_ELEMENT_TAPS_INL_H
#endif

#include "cpu/element/traits-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `count` taps in the tree of S8; K = 0: any number of them, where order does not matter.
template <class P, int K, class D, class At>
HWY_INLINE hn::Vec<D> fold_taps(D, int count, const At& at) {
  if constexpr (K > 0) {
    hn::Vec<D> v[K];
    for (int t = 0; t < K; ++t) v[t] = at(t);
    return fold_tree<typename P::Reduce, K>(v);
  } else {
    hn::Vec<D> acc = at(0);
    for (int t = 1; t < count; ++t) acc = P::Reduce::combine(acc, at(t));
    return acc;
  }
}

// Calls f with the number of taps as a constant, or 0 where a loop does as well.
template <class P, class F>
HWY_INLINE void with_taps(int count, const F& f) {
  using Lane = typename P::Lane;
  if constexpr (std::is_floating_point_v<Lane> || sizeof(Lane) == 1 || std::is_same_v<Lane, std::int16_t>) {
    if (count == 2) return f(std::integral_constant<int, 2>());
    if (count == 3) return f(std::integral_constant<int, 3>());
  }
  if constexpr (P::kTree) {
    if (count == 1) return f(std::integral_constant<int, 1>());
    if (count == 4) return f(std::integral_constant<int, 4>());
    if (count == 5) return f(std::integral_constant<int, 5>());
    if (count == 6) return f(std::integral_constant<int, 6>());
    if (count == 7) return f(std::integral_constant<int, 7>());
    return f(std::integral_constant<int, 8>());
  } else {
    return f(std::integral_constant<int, 0>());
  }
}

// Calls at(j) for vectors of results that begin at j; the last one may overlap the one before. `some` does fewer.
template <class D, class At, class Some>
HWY_INLINE void cover_results(D d, index_t n, const At& at, const Some& some) {
  const index_t lanes = lanes_of(d);
  if (n < lanes) {
    if (n > 0) some(index_t{0}, n);
  } else if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    // A loop alone: how it divides is asked before it.
    index_t j = 0;
    for (; j + lanes <= n; j += lanes) at(j);
    if (j < n) at(n - lanes);
  } else {
    cover_from(lanes, n, at);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
