// The look for NaN and negative zeros while elements are folded. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_SPECIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_SPECIAL_INL_H
#undef ORIEL_CPU_ELEMENT_SPECIAL_INL_H
#else
#define ORIEL_CPU_ELEMENT_SPECIAL_INL_H
#endif

#include "cpu/element/epilogue.h"
#include "cpu/element/kinds.h"
#include "cpu/simd/register-inl.h"
#include "hwy/highway.h"
#include "instruction_set.h"
#include "reduction.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Remembers whether any vector seen had a NaN or a negative zero. 16-bit floats come as the integers of their bits.
template <class P>
class Watch {
  using T = typename P::Lane;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  static constexpr bool kShort = sizeof(T) == 2;  // the greatest magnitude tells a NaN
#if ORIEL_AVX512
  static constexpr bool kByClass = !kShort;
#else
  static constexpr bool kByClass = false;
#endif
  static constexpr bool kByLeast = !kByClass && sizeof(T) <= 4;  // the least of all bits tells a negative zero

 public:
  HWY_INLINE Watch() : bad_(hn::Zero(DI())), least_(hn::Zero(DI())) {}
  HWY_INLINE void see(V& v) {
    if constexpr (P::kWatch) {
      keep_in_register(v);
      const DI di;
      const auto bits = hn::BitCast(di, v);
      if constexpr (kByLeast) least_ = hn::Min(least_, bits);
      if constexpr (kShort) {
        bad_ = hn::Max(bad_, hn::And(v, hn::Set(di, T{0x7fff})));
        return;
      }
#if ORIEL_AVX512
      constexpr int kQuietSignalingOrNegativeZero = 0x85;
      const auto one = hn::Set(di, 1);  // masks into a vector: there are few registers of masks
      if constexpr (sizeof(T) == 4) {
        const auto special = _mm512_fpclass_ps_mask(v.raw, kQuietSignalingOrNegativeZero);
        bad_.raw = _mm512_mask_mov_epi32(bad_.raw, special, one.raw);
      } else if constexpr (sizeof(T) == 8) {
        const auto special = _mm512_fpclass_pd_mask(v.raw, kQuietSignalingOrNegativeZero);
        bad_.raw = _mm512_mask_mov_epi64(bad_.raw, special, one.raw);
      }
#else
      if constexpr (!kShort) {
        bad_ = hn::Or(bad_, hn::BitCast(di, hn::VecFromMask(D(), hn::IsNaN(v))));
        if constexpr (!kByLeast) bad_ = hn::Or(bad_, hn::VecFromMask(di, hn::Eq(bits, negative_zero())));
      }
#endif
    } else {
      (void)v;
    }
  }

  // Only NaN, in two vectors at once, and only negative zeros, in a folded vector: a third of the instructions, for
  // folds that keep the first of equals. Looks of different turns do not wait for each other: a comparison takes five
  // cycles.
  template <int kTurn>
  HWY_INLINE void see_nan(V& a, V& b) {
    keep_in_register(a);
    keep_in_register(b);
#if ORIEL_AVX512
    auto& ordered = kTurn % 4 < 2 ? (kTurn % 2 == 0 ? ordered0_ : ordered1_) : (kTurn % 2 == 0 ? ordered2_ : ordered3_);
    if constexpr (sizeof(T) == 4) {
      ordered = _mm512_mask_cmp_ps_mask(ordered, a.raw, b.raw, _CMP_ORD_Q);
    } else {
      ordered = _mm512_mask_cmp_pd_mask(ordered, a.raw, b.raw, _CMP_ORD_Q);
    }
#elif ORIEL_AVX2
    V nan;
    if constexpr (sizeof(T) == 4) {
      nan.raw = _mm256_cmp_ps(a.raw, b.raw, _CMP_UNORD_Q);
    } else {
      nan.raw = _mm256_cmp_pd(a.raw, b.raw, _CMP_UNORD_Q);
    }
    bad_ = hn::Or(bad_, hn::BitCast(DI(), nan));
#else
    bad_ = hn::Or(bad_, hn::BitCast(DI(), hn::VecFromMask(D(), hn::Or(hn::IsNaN(a), hn::IsNaN(b)))));
#endif
  }
  HWY_INLINE void see_zero(V v) { least_ = hn::Min(least_, hn::BitCast(DI(), v)); }

  // `b`: which infinity is that of 16-bit floats.
  HWY_INLINE bool found([[maybe_unused]] const PlaneLowering& b) const {
    if constexpr (P::kWatch) {
      const DI di;
      if constexpr (kShort) {
        const auto nan = hn::Gt(bad_, hn::Set(di, static_cast<T>(b.infinity)));
        return !hn::AllFalse(di, hn::Or(nan, hn::Eq(least_, negative_zero())));
      }
#if ORIEL_AVX512
      if ((ordered0_ & ordered1_ & ordered2_ & ordered3_) != kAllOrdered) return true;
#endif
      return !hn::AllFalse(di, hn::Or(hn::Ne(bad_, hn::Zero(di)), hn::Eq(least_, negative_zero())));
    } else {
      return false;
    }
  }

 private:
  static HWY_INLINE hn::Vec<DI> negative_zero() { return hn::Set(DI(), lowest_value<hn::TFromD<DI>>()); }

  hn::Vec<DI> bad_, least_;
#if ORIEL_AVX512
  using Lanes = std::conditional_t<sizeof(T) == 8, __mmask8, __mmask16>;
  static constexpr Lanes kAllOrdered = static_cast<Lanes>(-1);
  Lanes ordered0_ = kAllOrdered, ordered1_ = kAllOrdered, ordered2_ = kAllOrdered, ordered3_ = kAllOrdered;
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
