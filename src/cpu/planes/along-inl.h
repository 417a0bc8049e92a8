// The fold of folded rows along them. Included once per target.
#if defined(ORIEL_CPU_PLANES_ALONG_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_PLANES_ALONG_INL_H
#undef ORIEL_CPU_PLANES_ALONG_INL_H
#else
#define ORIEL_CPU_PLANES_ALONG_INL_H
#endif

#include "cpu/element/taps-inl.h"
#include "cpu/planes/plane_kernels.h"
#include "cpu/simd/two_tables-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Windows that step by 1: x is where tap 0 of the first one looks.
template <class P, int K>
HWY_INLINE void along_dense(const PlaneBand& b, const typename P::Lane* x, index_t tap_pitch, int count,
                            typename P::Out* HWY_RESTRICT y) {
  const PlaneTag<P> d;
  const auto by = divisor_of<P>(b);
  const auto folded = [&](index_t j) HWY_ATTR {
    const auto v = fold_taps<P, K>(d, count, [&](int t) HWY_ATTR { return hn::LoadU(d, x + j + t * tap_pitch); });
    return P::lower(d, v, b, by, j);
  };
  cover_results(
      d, b.out_elems, [&](index_t j) HWY_ATTR { P::store(d, folded(j), y + j); },
      [&](index_t j, index_t n) HWY_ATTR { P::store_some(d, folded(j), y + j, n); });
}

#if HWY_TARGET != HWY_SCALAR
// Windows that step by 2 over single lanes: even and odd elements are split once per pair of taps.
template <class P, int K>
HWY_INLINE void along_pairs(const PlaneBand& b, const typename P::Lane* x, typename P::Out* HWY_RESTRICT y) {
  const PlaneTag<P> d;
  const index_t lanes = lanes_of(d);
  const auto by = divisor_of<P>(b);
  const auto folded = [&](index_t j) HWY_ATTR {
    const typename P::Lane* from = x + 2 * j;
    hn::Vec<decltype(d)> v;
    if constexpr (K > 0) {
      hn::Vec<decltype(d)> taps[K + 1];
      for (int t = 0; t < K; t += 2) {
        const auto low = hn::LoadU(d, from + t), high = hn::LoadU(d, from + t + lanes);
        taps[t] = hn::ConcatEven(d, high, low);
        if (t + 1 < K) taps[t + 1] = hn::ConcatOdd(d, high, low);
      }
      v = fold_tree<typename P::Reduce, K>(taps);
    } else {
      v = hn::Set(d, identity_of<P>(b));
      for (int t = 0; t < b.along; t += 2) {
        const auto low = hn::LoadU(d, from + t), high = hn::LoadU(d, from + t + lanes);
        v = P::Reduce::combine(v, hn::ConcatEven(d, high, low));
        if (t + 1 < b.along) v = P::Reduce::combine(v, hn::ConcatOdd(d, high, low));
      }
    }
    return P::lower(d, v, b, by, j);
  };
  cover_results(
      d, b.out_elems, [&](index_t j) HWY_ATTR { P::store(d, folded(j), y + j); },
      [&](index_t j, index_t n) HWY_ATTR { P::store_some(d, folded(j), y + j, n); });
}
#endif

#if HWY_TARGET != HWY_SCALAR
// Lane i is the fold of from[i * K, (i + 1) * K): neighbours first, as S8 adds them.
template <class R, int K, class D>
HWY_INLINE hn::Vec<D> fold_patches(D d, const hn::TFromD<D>* from) {
  if constexpr (K == 1) {
    return hn::LoadU(d, from);
  } else {
    const auto low = fold_patches<R, K / 2>(d, from), high = fold_patches<R, K / 2>(d, from + lanes_of(d) * (K / 2));
    return R::combine(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low));
  }
}

// Windows of K taps that stand one behind the other.
template <class P, int K>
HWY_INLINE void along_patches(const PlaneBand& b, const typename P::Lane* x, typename P::Out* HWY_RESTRICT y) {
  const PlaneTag<P> d;
  const auto by = divisor_of<P>(b);
  const auto folded = [&](index_t j)
                          HWY_ATTR { return P::lower(d, fold_patches<typename P::Reduce, K>(d, x + K * j), b, by, j); };
  cover_results(
      d, b.out_elems, [&](index_t j) HWY_ATTR { P::store(d, folded(j), y + j); },
      [&](index_t j, index_t n) HWY_ATTR { P::store_some(d, folded(j), y + j, n); });
}
#endif

template <class P>
inline constexpr bool kSelects = ORIEL_AVX512 && (sizeof(typename P::Lane) > 1 || ORIEL_AVX512_BYTES);
inline constexpr index_t kMostSelected = 8;  // vectors of which one is made

#if HWY_TARGET != HWY_SCALAR
template <class P>
inline constexpr bool kDeals = !kSelects<P>;

// A vector for every one of S inputs side by side: element i of vector t is from[S * i + t].
template <int S, class D>
HWY_INLINE void deal(D d, const hn::TFromD<D>* from, hn::Vec<D>* out) {
  static_assert(S == 3 || S == 4);
  if constexpr (S == 3) {
    hn::LoadInterleaved3(d, from, out[0], out[1], out[2]);
  } else {
    hn::LoadInterleaved4(d, from, out[0], out[1], out[2], out[3]);
  }
}

// Windows that step by S over single lanes.
template <class P, int K, int S>
HWY_INLINE void along_dealt(const PlaneBand& b, const typename P::Lane* x, typename P::Out* HWY_RESTRICT y) {
  const PlaneTag<P> d;
  const auto by = divisor_of<P>(b);
  const auto folded = [&](index_t j) HWY_ATTR {
    using V = hn::Vec<decltype(d)>;
    const typename P::Lane* from = x + S * j;
    V v;
    if constexpr (K > 0) {
      V taps[(K + S - 1) / S * S];
      for (int t = 0; t < K; t += S) deal<S>(d, from + t, taps + t);
      v = fold_tree<typename P::Reduce, K>(taps);
    } else {
      v = hn::Set(d, identity_of<P>(b));
      for (int t = 0; t < b.along; t += S) {
        V taps[S];
        deal<S>(d, from + t, taps);
        for (int u = 0; u < S && t + u < b.along; ++u) v = P::Reduce::combine(v, taps[u]);
      }
    }
    return P::lower(d, v, b, by, j);
  };
  cover_results(
      d, b.out_elems, [&](index_t j) HWY_ATTR { P::store(d, folded(j), y + j); },
      [&](index_t j, index_t n) HWY_ATTR { P::store_some(d, folded(j), y + j, n); });
}
#endif

// Any step: `stride` vectors of windows at every place, of which the step leaves one over.
template <class P, int K>
HWY_INLINE void along_selected(const PlaneBand& b, const typename P::Lane* x, typename P::Out* HWY_RESTRICT y) {
#if ORIEL_AVX512
  const PlaneTag<P> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using U = hn::TFromD<decltype(du)>;
  const index_t lanes = lanes_of(d), step = lanes / b.lanes * b.lanes;
  const auto by = divisor_of<P>(b);
  const U* select = static_cast<const U*>(b.select);
  for (index_t j = 0; j < b.out_elems; j += step) {
    const typename P::Lane* from = x + j * b.stride;
    auto v = hn::Undefined(d);
    for (index_t c = 0; c < b.stride; ++c) {
      const auto w =
          fold_taps<P, K>(d, b.along, [&](int t) HWY_ATTR { return hn::LoadU(d, from + c * lanes + t * b.tap_pitch); });
      v = c == 0 ? two_tables(d, w, hn::Load(du, select), w) : two_tables(d, v, hn::Load(du, select + c * lanes), w);
    }
    const index_t left = b.out_elems - j;
    if (left >= lanes)
      P::store(d, P::lower(d, v, b, by, j), y + j);
    else
      P::store_some(d, P::lower(d, v, b, by, j), y + j, left < step ? left : step);
  }
#else
  (void)b, (void)x, (void)y;
#endif
}

#if HWY_TARGET != HWY_SCALAR
// Any step: 16 bytes of windows at every place, of which the results that the step leaves over are moved side by side;
// lowered afterwards.
template <class P, int K>
HWY_INLINE void along_compacted(const PlaneBand& b, const typename P::Lane* x, index_t positions,
                                typename P::Out* HWY_RESTRICT y) {
  using Lane = typename P::Lane;
  const hn::FixedTag<Lane, 16 / sizeof(Lane)> d;
  const hn::Repartition<std::uint8_t, decltype(d)> bytes;
  const auto select = hn::LoadU(bytes, static_cast<const std::uint8_t*>(b.select));
  const index_t results = positions * b.lanes;
  Lane* compact = static_cast<Lane*>(b.compact);
  for (index_t j = 0; j < b.out_elems; j += results, x += b.stride * results) {
    const auto v = fold_taps<P, K>(d, b.along, [&](int t) HWY_ATTR { return hn::LoadU(d, x + t * b.tap_pitch); });
    hn::StoreU(hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(bytes, v), select)), d, compact + j);
  }
  along_dense<P, P::kTree ? 1 : 0>(b, compact, 0, 1, y);
}
#endif

// Any step and lanes, one result after the other; lowered afterwards.
template <class P, int K>
HWY_INLINE void along_each(const PlaneBand& b, const typename P::Lane* x, typename P::Out* HWY_RESTRICT y) {
  using Lane = typename P::Lane;
  const hn::CappedTag<Lane, 1> d1;
  Lane* compact = static_cast<Lane*>(b.compact);
  index_t j = 0;
  for (index_t from = 0; j < b.out_elems; from += b.stride * b.lanes) {
    for (index_t l = 0; l < b.lanes; ++l, ++j) {
      const auto v =
          fold_taps<P, K>(d1, b.along, [&](int t) HWY_ATTR { return hn::LoadU(d1, x + from + l + t * b.tap_pitch); });
      hn::StoreU(v, d1, compact + j);
    }
  }
  along_dense<P, P::kTree ? 1 : 0>(b, compact, 0, 1, y);
}

template <class P, int K>
HWY_NOINLINE void along_rows(const PlaneBand& b, index_t row, index_t rows) {
  using Lane = typename P::Lane;
  const Lane* x = static_cast<const Lane*>(b.folded) + b.begin;
  typename P::Out* y = static_cast<typename P::Out*>(b.y) + row * b.y_pitch;
  for (index_t r = 0; r < rows; ++r, x += b.folded_pitch, y += b.y_pitch) {
    if (b.stride == 1) {
      along_dense<P, K>(b, x, b.tap_pitch, b.along, y);
      continue;
    }
#if HWY_TARGET != HWY_SCALAR
    if (b.stride == 2 && b.lanes == 1 && b.tap_pitch == 1) {
      along_pairs<P, K>(b, x, y);
      continue;
    }
    if (b.stride == b.along && b.lanes == 1 && b.tap_pitch == 1 && (K == 0 || K == 4 || K == 8)) {
      if (b.along == 4) {
        along_patches<P, 4>(b, x, y);
        continue;
      }
      if (b.along == 8) {
        along_patches<P, 8>(b, x, y);
        continue;
      }
    }
    if constexpr (kDeals<P>) {
      if (b.stride == 3 && b.lanes == 1 && b.tap_pitch == 1) {
        along_dealt<P, K, 3>(b, x, y);
        continue;
      }
      if (b.stride == 4 && b.lanes == 1 && b.tap_pitch == 1) {
        along_dealt<P, K, 4>(b, x, y);
        continue;
      }
    }
#endif
    if (kSelects<P> && b.stride <= kMostSelected && b.lanes <= lanes_of(PlaneTag<P>())) {
      along_selected<P, K>(b, x, y);
      continue;
    }
#if HWY_TARGET != HWY_SCALAR
    if constexpr (!kSelects<P>) {
      const index_t positions = positions_in_16_bytes(b.stride, b.lanes, sizeof(Lane));
      if (positions * b.lanes > 1) {
        along_compacted<P, K>(b, x, positions, y);
        continue;
      }
    }
#endif
    along_each<P, K>(b, x, y);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
