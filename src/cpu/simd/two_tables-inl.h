// Lanes of two vectors in any order, by AVX-512. Included once per target.
#if defined(ORIEL_CPU_SIMD_TWO_TABLES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_SIMD_TWO_TABLES_INL_H
#undef ORIEL_CPU_SIMD_TWO_TABLES_INL_H
#else
#define ORIEL_CPU_SIMD_TWO_TABLES_INL_H
#endif

#include "hwy/highway.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if ORIEL_AVX512
// Lane i is lane index[i] of a, or of b from the number of lanes on.
template <class D, class V, class I>
HWY_INLINE V two_tables(D d, V a, I index, V b) {
  const hn::RebindToUnsigned<D> du;
  const auto ua = hn::BitCast(du, a).raw, ub = hn::BitCast(du, b).raw;
  using U = hn::Vec<decltype(du)>;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::BitCast(d, U{_mm512_permutex2var_epi64(ua, index.raw, ub)});
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::BitCast(d, U{_mm512_permutex2var_epi32(ua, index.raw, ub)});
  } else if constexpr (sizeof(hn::TFromD<D>) == 2) {
    return hn::BitCast(d, U{_mm512_permutex2var_epi16(ua, index.raw, ub)});
  } else {
#if ORIEL_AVX512_BYTES
    return hn::BitCast(d, U{_mm512_permutex2var_epi8(ua, index.raw, ub)});
#else
    return a;
#endif
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
