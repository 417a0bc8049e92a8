// The look for NaN and negative zeros while elements are folded. Included once per target.
#if defined(ORIEL_CPU_WATCH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_WATCH_INL_H
#undef ORIEL_CPU_WATCH_INL_H
#else
#define ORIEL_CPU_WATCH_INL_H
#endif

#include "cpu/kernels.h"
#include "hwy/highway.h"

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

 public:
  HWY_INLINE Watch() : bad_(hn::Zero(D())) {}
  HWY_INLINE void see(V v) {
    if constexpr (P::kWatch) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
      constexpr int kQuietSignalingOrNegativeZero = 0x85;
      if constexpr (sizeof(T) == 4) {
        seen_ |= _mm512_fpclass_ps_mask(v.raw, kQuietSignalingOrNegativeZero);
        return;
      } else if constexpr (sizeof(T) == 8) {
        seen_ |= _mm512_fpclass_pd_mask(v.raw, kQuietSignalingOrNegativeZero);
        return;
      }
#endif
      if constexpr (sizeof(T) == 2) {
        constexpr T kMost = 0x7fff, kInfinity = static_cast<T>(kMost & ~((1 << P::kMantissa) - 1));
        const auto nan = hn::Gt(hn::And(v, hn::Set(D(), kMost)), hn::Set(D(), kInfinity));
        const auto zero = hn::Eq(v, hn::Set(D(), static_cast<T>(-0x8000)));
        bad_ = hn::Or(bad_, hn::Or(hn::VecFromMask(D(), nan), hn::VecFromMask(D(), zero)));
      } else {
        const auto ordered = hn::Eq(v, v);
        const hn::RebindToSigned<D> di;
        using I = hn::TFromD<decltype(di)>;
        const auto zero = hn::Eq(hn::BitCast(di, v), hn::Set(di, lowest_value<I>()));
        bad_ =
            hn::Or(bad_, hn::Or(hn::VecFromMask(D(), hn::Not(ordered)), hn::BitCast(D(), hn::VecFromMask(di, zero))));
      }
    } else {
      (void)v;
    }
  }

  HWY_INLINE bool found() const {
    if constexpr (P::kWatch) {
      const hn::RebindToSigned<D> di;
      return seen_ != 0 || !hn::AllFalse(di, hn::Ne(hn::BitCast(di, bad_), hn::Zero(di)));
    } else {
      return false;
    }
  }

 private:
  unsigned seen_ = 0;
  V bad_;
};

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
