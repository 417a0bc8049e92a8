// Vectors of accumulators as elements, rounded. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_ROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_ROUND_INL_H
#undef ORIEL_CPU_ELEMENT_ROUND_INL_H
#else
#define ORIEL_CPU_ELEMENT_ROUND_INL_H
#endif

#include "cpu/element/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Accumulators as elements of T, rounded, in vectors of the same number of lanes; f16 where kHalfInHardware.
template <class T, class D>
HWY_INLINE auto rounded_to(D d, hn::Vec<D> v) {
  if constexpr (std::is_same_v<T, half>) {
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::BitCast(hn::RebindToUnsigned<decltype(dh)>(), hn::DemoteTo(dh, v));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    const hn::RebindToSigned<D> di;
    return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(), hn::BitCast(di, bfloat16_bits(d, v)));
  } else {
    return v;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
