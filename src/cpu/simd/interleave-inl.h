// Vectors woven into one run. Included once per target.
#if defined(ORIEL_CPU_SIMD_INTERLEAVE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_SIMD_INTERLEAVE_INL_H
#undef ORIEL_CPU_SIMD_INTERLEAVE_INL_H
#else
#define ORIEL_CPU_SIMD_INTERLEAVE_INL_H
#endif

#include "cpu/simd/two_tables-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of every kS-th element, woven into one run.
template <int kS, class D>
HWY_INLINE void weave(D d, const hn::Vec<D>* v, hn::Vec<D>* out) {
  if constexpr (kS == 1) {
    out[0] = v[0];
  } else {
#if ORIEL_AVX512
    const hn::RebindToUnsigned<D> du;
    using U = hn::TFromD<decltype(du)>;
    constexpr int kSecond = sizeof(U) == 4 ? 4 : 3;  // bit of an index that says which vector
    const auto count = hn::Iota(du, U{0}), odd = hn::And(count, hn::Set(du, U{1}));
    const auto low = hn::Or(hn::ShiftRight<1>(count), hn::ShiftLeft<kSecond>(odd));
    out[0] = two_tables(d, v[0], low, v[1]);
    out[1] = two_tables(d, v[0], hn::Add(low, hn::Set(du, U{1} << (kSecond - 1))), v[1]);
#elif ORIEL_AVX2
    const auto low = hn::InterleaveLower(d, v[0], v[1]), high = hn::InterleaveUpper(d, v[0], v[1]);
    out[0] = hn::ConcatLowerLower(d, high, low);
    out[1] = hn::ConcatUpperUpper(d, high, low);
#elif HWY_TARGET != HWY_SCALAR
    static_assert(hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) <= 16, "blocks are whole vectors");
    out[0] = hn::InterleaveLower(d, v[0], v[1]);
    out[1] = hn::InterleaveUpper(d, v[0], v[1]);
#endif
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
