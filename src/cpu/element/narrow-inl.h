// Sums and averages into element types shorter than their accumulators, a vector at a time. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_NARROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_NARROW_INL_H
#undef ORIEL_CPU_ELEMENT_NARROW_INL_H
#else
#define ORIEL_CPU_ELEMENT_NARROW_INL_H
#endif

#include "cpu/element/load-inl.h"
#include "cpu/element/quotient.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {

// Sums below this have float quotients that round to the right integers: no nearer to a tie than 1 / (2 d).
inline constexpr index_t kFloatSums = index_t{1} << 23;

// The bits of bf16, rounded to even, in the lower halves of 32; a NaN keeps its sign only.
template <class D>
HWY_INLINE auto bfloat16_bits(D, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(du, 1U));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7fffU)), odd));
  const auto nan = hn::Or(hn::And(high, hn::Set(du, 0x8000U)), hn::Set(du, 0x7fc0U));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), nan, rounded);
}

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

// Writes what rounded_to() gives to `to`, which lies on a multiple of the vector's size, past the caches. Highway
// streams 16 bytes at least: for vectors of fewer, which 16-bit elements have on SSE4, these would be more bytes than
// there are results.
template <class D>
HWY_INLINE void stream_rounded(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) < 16) {
    hn::StoreU(v, d, to);
  } else {
    hn::Stream(v, d, to);
  }
}

// Highway 1.0 makes 0 to 255 of 32768 to 33023.
template <class T, class D>
HWY_INLINE hn::Vec<hn::Rebind<T, D>> saturated(D d, hn::Vec<D> v) {
  if constexpr (sizeof(T) == 1 && !std::is_signed_v<T> && sizeof(hn::TFromD<D>) == 4) {
    v = hn::Min(v, hn::Set(d, hn::TFromD<D>{255}));
  }
  return hn::DemoteTo(hn::Rebind<T, D>(), v);
}

// Writes the first of n results, in whole vectors, and returns how many; 0 where no vector code is exact. `taps`: of a
// window at most.
template <class T, bool kAverage>
HWY_INLINE index_t narrow_floats(const float* a, index_t n, index_t divisor, T* y) {
  constexpr bool kIsHalf = std::is_same_v<T, half>;
  if (kIsHalf && !kHalfInHardware) return 0;
  if (kAverage && divisor >= (kIsHalf ? kHalfDivisors : kBfloat16Divisors)) return 0;
  const hn::ScalableTag<float> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  const auto by = hn::Set(d, static_cast<float>(divisor));
  index_t i = 0;
  for (; i + step <= n; i += step) {
    auto v = hn::LoadU(d, a + i);
    if constexpr (kAverage) {
      const auto sum = v;
      v = hn::Div(v, by);
      if constexpr (!kIsHalf) {
        const auto tiny = hn::And(hn::Lt(hn::Abs(v), hn::Set(d, 0x1p-125F)), hn::Ne(sum, hn::Zero(d)));
        if (HWY_UNLIKELY(!hn::AllFalse(d, tiny))) return i;
      }
    }
    if constexpr (kIsHalf) {
      const hn::Rebind<hwy::float16_t, decltype(d)> dh;
      hn::StoreU(hn::DemoteTo(dh, v), dh, reinterpret_cast<hwy::float16_t*>(y + i));
    } else {
      const hn::Rebind<std::uint16_t, decltype(d)> d16;
      const hn::RebindToSigned<decltype(d)> di;
      const auto bits = hn::BitCast(di, bfloat16_bits(d, v));
      hn::StoreU(hn::DemoteTo(d16, bits), d16, reinterpret_cast<std::uint16_t*>(y + i));
    }
  }
  return i;
}

// Quotients of whole numbers by one divisor, which round to the right ones.
template <class D>
class Quotients {
 public:
  Quotients(D d, index_t divisor)
      : by_(hn::Set(d, static_cast<hn::TFromD<D>>(divisor))), inverse_(hn::Div(hn::Set(d, hn::TFromD<D>{1}), by_)) {}

  HWY_INLINE hn::Vec<D> of(hn::Vec<D> sum) const {
#if ORIEL_HALF_AND_FUSED
    // The product is at most two units in the last place off, what is left over exact: a quotient that is a float comes
    // out as that, another nearer to the exact one than a unit, which is less than what divides it from a half.
    const auto q = hn::Mul(sum, inverse_);
    return hn::MulAdd(hn::NegMulAdd(q, by_, sum), inverse_, q);
#else
    return hn::Div(sum, by_);
#endif
  }

 private:
  hn::Vec<D> by_;
  hn::Vec<D> inverse_;
};

template <class T, bool kAverage>
HWY_INLINE index_t narrow_integers(const std::int32_t* a, index_t n, index_t divisor, index_t taps, T* y) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<T, decltype(d)> dt;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  const auto narrow = [&](const auto& lowered) HWY_ATTR {
    for (; i + step <= n; i += step) hn::StoreU(saturated<T>(d, lowered(hn::LoadU(d, a + i))), dt, y + i);
    return i;
  };
  if constexpr (!kAverage) return narrow([](auto v) HWY_ATTR { return v; });
  if (divisor >= kFloatSums) return 0;
  if (taps < kFloatSums >> (8 * sizeof(T))) {
    const hn::RebindToFloat<decltype(d)> df;
    const Quotients<decltype(df)> quotients(df, divisor);
    return narrow([&](auto v) HWY_ATTR { return hn::NearestInt(quotients.of(hn::ConvertTo(df, v))); });
  }
#if HWY_TARGET != HWY_SCALAR
  const hn::Half<decltype(d)> dh;
  const hn::Rebind<double, decltype(dh)> df;
  const Quotients<decltype(df)> quotients(df, divisor);
  const auto half = [&](auto v) HWY_ATTR { return hn::DemoteTo(dh, hn::Round(quotients.of(hn::PromoteTo(df, v)))); };
  return narrow([&](auto v)
                    HWY_ATTR { return hn::Combine(d, half(hn::UpperHalf(dh, v)), half(hn::LowerHalf(dh, v))); });
#else
  return 0;
#endif
}

template <class T, class A, bool kAverage>
HWY_INLINE index_t narrow_row(const A* a, index_t n, index_t divisor, index_t taps, T* y) {
  (void)a, (void)n, (void)divisor, (void)taps, (void)y;
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return narrow_floats<T, kAverage>(a, n, divisor, y);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) < 4 && sizeof(A) == 4) {
    return narrow_integers<T, kAverage>(a, n, divisor, taps, y);
  } else {
    return 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
