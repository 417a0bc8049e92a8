// Integers as shorter ones, saturated. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_SATURATE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_SATURATE_INL_H
#undef ORIEL_CPU_ELEMENT_SATURATE_INL_H
#else
#define ORIEL_CPU_ELEMENT_SATURATE_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Highway 1.0 makes 0 to 255 of 32768 to 33023.
template <class T, class D>
HWY_INLINE hn::Vec<hn::Rebind<T, D>> saturated(D d, hn::Vec<D> v) {
  if constexpr (sizeof(T) == 1 && !std::is_signed_v<T> && sizeof(hn::TFromD<D>) == 4) {
    v = hn::Min(v, hn::Set(d, hn::TFromD<D>{255}));
  }
  return hn::DemoteTo(hn::Rebind<T, D>(), v);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
