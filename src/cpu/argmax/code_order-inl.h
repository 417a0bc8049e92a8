// How extrema with codes order elements, and what that order does not decide. Included once per target.
#if defined(ORIEL_CPU_ARGMAX_CODE_ORDER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ARGMAX_CODE_ORDER_INL_H
#undef ORIEL_CPU_ARGMAX_CODE_ORDER_INL_H
#else
#define ORIEL_CPU_ARGMAX_CODE_ORDER_INL_H
#endif

#include <cstring>

#include "hwy/highway.h"
#include "instruction_set.h"
#include "oriel/types.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if ORIEL_AVX2
// Elements in lanes of the same order.
template <class T, bool kMin>
struct OwnOrder {
  using Lane = T;
  static constexpr bool kIsMin = kMin, kLifts = false;
  static constexpr T worst() { return kMin ? highest_value<T>() : lowest_value<T>(); }
  template <class D, class V>
  static HWY_INLINE V lift(D, V v) {
    return v;
  }
};

// 16-bit floats as integers of the same order; a negative zero is not in its place there.
template <int kMantissa, bool kMin>
struct KeyOrder {
  using Lane = std::int16_t;
  static constexpr bool kIsMin = kMin, kLifts = true;
  static constexpr std::int16_t kInfinity = static_cast<std::int16_t>(0x7fff & ~((1 << kMantissa) - 1));
  static constexpr std::int16_t worst() { return static_cast<std::int16_t>(kMin ? kInfinity : ~kInfinity); }
  template <class D, class V>
  static HWY_INLINE V lift(D d, V v) {
    return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), hn::Set(d, std::int16_t{0x7fff})));
  }
};

// The look for NaN, and of keys for negative zeros.
template <class O>
class Special {
  using T = typename O::Lane;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;

 public:
#if ORIEL_AVX512
  HWY_INLINE void see(V a, V b) {
    if constexpr (std::is_same_v<T, float>) {
      mask_ |= _mm512_cmp_ps_mask(a.raw, b.raw, _CMP_UNORD_Q);
    } else if constexpr (std::is_same_v<T, double>) {
      mask_ |= _mm512_cmp_pd_mask(a.raw, b.raw, _CMP_UNORD_Q);
    } else if constexpr (O::kLifts) {
      see_key(a);
      see_key(b);
    }
  }
  HWY_INLINE void see_key(V key) {
    const hn::RebindToUnsigned<D> du;
    using U = hn::TFromD<decltype(du)>;
    constexpr U kLow = static_cast<U>(static_cast<U>(~O::kInfinity));  // the key of minus infinity
    const auto above = hn::Sub(hn::BitCast(du, key), hn::Set(du, kLow));
    const auto range = hn::Set(du, static_cast<U>(static_cast<U>(O::kInfinity) - kLow));
    const auto nan = hn::Gt(above, range);
    const auto zero = hn::Eq(key, hn::Set(D(), T{-1}));  // a mask of another type in clang with AVX-512
    mask_ |= nan.raw | zero.raw;
  }
  HWY_INLINE bool found() const { return mask_ != 0; }

 private:
  std::uint64_t mask_ = 0;
#else
  HWY_INLINE Special() : seen_(hn::Zero(D())) {}
  HWY_INLINE void see(V a, V b) {
    if constexpr (std::is_same_v<T, float>) {
      seen_ = hn::Or(seen_, V{_mm256_cmp_ps(a.raw, b.raw, _CMP_UNORD_Q)});
    } else {
      seen_ = hn::Or(seen_, V{_mm256_cmp_pd(a.raw, b.raw, _CMP_UNORD_Q)});
    }
  }
  HWY_INLINE bool found() const { return !hn::AllFalse(D(), hn::MaskFromVec(seen_)); }

 private:
  V seen_;
#endif
};

// Codes of lanes as bytes.
#if ORIEL_AVX512
template <class T, class VU>
HWY_INLINE void store_codes(VU code, std::uint8_t* to) {
  if constexpr (sizeof(T) == 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(code.raw));
  } else if constexpr (sizeof(T) == 2) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtepi16_epi8(code.raw));
  } else {
    static_assert(sizeof(T) == 8);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm512_cvtepi64_epi8(code.raw));
  }
}
#else
template <class T, class VU>
HWY_INLINE void store_codes(VU code, std::uint8_t* to) {
  const hn::Rebind<std::uint8_t, hn::DFromV<VU> > d8;
  hn::StoreU(hn::TruncateTo(d8, code), d8, to);
}
#endif

// Those of the first n lanes.
template <class T, class VU>
HWY_INLINE void store_some_codes(VU code, index_t n, std::uint8_t* to) {
#if ORIEL_AVX512
  const std::uint64_t mask = (std::uint64_t{1} << n) - 1;  // of at most 32 lanes
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_cvtepi32_storeu_epi8(to, static_cast<__mmask16>(mask), code.raw);
  } else if constexpr (sizeof(T) == 8) {
    _mm512_mask_cvtepi64_storeu_epi8(to, static_cast<__mmask8>(mask), code.raw);
  } else {
    _mm512_mask_cvtepi16_storeu_epi8(to, static_cast<__mmask32>(mask), code.raw);
  }
#else
  std::uint8_t all[hn::MaxLanes(hn::DFromV<VU>())];
  store_codes<T>(code, all);
  std::memcpy(to, all, static_cast<std::size_t>(n));
#endif
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
