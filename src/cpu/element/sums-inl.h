// Sums of planes whose elements are shorter than their sums: how elements of each type are widened, divided and
// narrowed. Included once per target.
#if defined(ORIEL_CPU_ELEMENT_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_ELEMENT_SUMS_INL_H
#undef ORIEL_CPU_ELEMENT_SUMS_INL_H
#else
#define ORIEL_CPU_ELEMENT_SUMS_INL_H
#endif

#include "cpu/element/narrow-inl.h"
#include "cpu/element/traits-inl.h"
#include "instruction_set.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two elements of each lane: those at even places and those at odd ones; and back, saturated.
template <class T, class D>
HWY_INLINE void split_integers(D d, Halves<T, D> v, hn::Vec<D>& even, hn::Vec<D>& odd) {
  constexpr int kBits = 8 * sizeof(T);
  static_assert(sizeof(hn::TFromD<D>) == 2 * sizeof(T));
  const auto both = hn::BitCast(d, v);
  if constexpr (std::is_signed_v<T>) {
    even = hn::ShiftRight<kBits>(hn::ShiftLeft<kBits>(both));
    odd = hn::ShiftRight<kBits>(both);
  } else {
    const hn::RebindToUnsigned<D> du;
    even = hn::And(both, hn::Set(d, hn::TFromD<D>{highest_value<T>()}));
    odd = hn::BitCast(d, hn::ShiftRight<kBits>(hn::BitCast(du, both)));
  }
}
template <class T, class D>
HWY_INLINE Halves<T, D> join_integers(D d, hn::Vec<D> even, hn::Vec<D> odd) {
  using A = hn::TFromD<D>;
  const auto low = hn::Set(d, A{lowest_value<T>()}), high = hn::Set(d, A{highest_value<T>()});
  even = hn::And(hn::Min(hn::Max(even, low), high), hn::Set(d, A{highest_value<std::make_unsigned_t<T>>()}));
  odd = hn::ShiftLeft<8 * sizeof(T)>(hn::Min(hn::Max(odd, low), high));
  return hn::BitCast(hn::Repartition<T, D>(), hn::Or(even, odd));
}

// Narrow integers summed as i32; the average's quotient as f32 is on the same side of every half, or on it, as the
// exact one while sums stay below 2^23: a quotient that is no half is at least 1/(2 divisor) away from one.
template <class T>
struct NarrowSum {
  using Reduce = Sum;
  using In = T;
  using Lane = std::int32_t;
  using Out = T;
  using By = float;
  static constexpr bool kTree = false, kWatch = false;

  static constexpr In absent() { return 0; }
  static constexpr Lane identity() { return 0; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return hn::PromoteTo(d, load_part(hn::Rebind<T, D>(), p, n));
  }
  template <class D>
  static HWY_INLINE void split(D d, Halves<In, D> v, hn::Vec<D>& even, hn::Vec<D>& odd) requires(sizeof(T) == 2) {
    split_integers<T>(d, v, even, odd);
  }
  template <class D>
  static HWY_INLINE Halves<Out, D> join(D d, hn::Vec<D> even, hn::Vec<D> odd) {
    return join_integers<T>(d, even, odd);
  }
  template <class D, class V>
  static HWY_INLINE V lift(D, V v) {
    return v;
  }
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, B by, index_t j) {
    if (b.lower == PlaneLower::none) return v;
    const hn::Rebind<float, D> df;
    auto f = hn::ConvertTo(df, v);
    if (b.lower == PlaneLower::multiply) {
      f = hn::Mul(f, by);
    } else if (b.lower == PlaneLower::divide) {
      f = hn::Div(f, by);
    } else {
      f = hn::Div(f, hn::Mul(by, hn::LoadU(df, static_cast<const float*>(b.divisor_each) + j)));
    }
    (void)d;
    return hn::NearestInt(f);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, Out* p) {
    hn::StoreU(saturated<T>(d, v), hn::Rebind<T, D>(), p);
  }
  template <class D>
  static HWY_INLINE void store_some(D d, hn::Vec<D> v, Out* p, index_t n) {
    store_part(hn::Rebind<T, D>(), saturated<T>(d, v), p, n);
  }
};

#if ORIEL_PLANES
// Bytes summed as i16, divided by a multiplication: both are exact where sums_in_16_bits says so.
template <class T>
struct ByteSum {
  using Reduce = Sum;
  using In = T;
  using Lane = std::int16_t;
  using Out = T;
  static constexpr bool kTree = false, kWatch = false;

  // The quotient in vectors.
  template <class D>
  struct By {
    using U = hn::RebindToUnsigned<D>;
    hn::Vec<D> half;
    hn::Vec<U> multiplier;
    hn::Vec<U> divisor;
    hn::Vec<U> even;
    int shift;
  };

  static constexpr In absent() { return 0; }
  static constexpr Lane identity() { return 0; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), p));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return hn::PromoteTo(d, load_part(hn::Rebind<T, D>(), p, n));
  }
  template <class D>
  static HWY_INLINE void split(D d, Halves<In, D> v, hn::Vec<D>& even, hn::Vec<D>& odd) {
    split_integers<T>(d, v, even, odd);
  }
  template <class D>
  static HWY_INLINE Halves<Out, D> join(D d, hn::Vec<D> even, hn::Vec<D> odd) {
    return join_integers<T>(d, even, odd);
  }
  template <class D, class V>
  static HWY_INLINE V lift(D, V v) {
    return v;
  }
  template <class D>
  static HWY_INLINE By<D> by(D d, const PlaneLowering& b) {
    const hn::RebindToUnsigned<D> du;
    const ShortQuotient& q = b.quotient;
    return {hn::Set(d, static_cast<std::int16_t>(q.half)), hn::Set(du, q.multiplier), hn::Set(du, q.divisor),
            hn::Set(du, q.even), q.shift};
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, const By<D>& by, index_t j) {
    if (b.lower == PlaneLower::none) return v;
    if (b.lower == PlaneLower::divide_each) return divided_each(d, v, b, j);
    if (b.quotient.divisor == 1) return v;
    const hn::RebindToUnsigned<D> du;
    const auto n = hn::BitCast(du, hn::Add(std::is_signed_v<T> ? hn::Abs(v) : v, by.half));
    auto q = hn::ShiftRightSame(hn::MulHigh(n, by.multiplier), by.shift);
    const auto tie = hn::VecFromMask(du, hn::Eq(hn::Mul(q, by.divisor), n));
    q = hn::Sub(q, hn::And(tie, hn::And(q, by.even)));
    const auto out = hn::BitCast(d, q);
    if constexpr (!std::is_signed_v<T>) return out;
    const auto sign = hn::ShiftRight<15>(v);
    return hn::Sub(hn::Xor(out, sign), sign);
  }
  template <class D>
  static HWY_INLINE void store(D, hn::Vec<D> v, Out* p) {
    const hn::Rebind<T, D> dt;
    hn::StoreU(hn::DemoteTo(dt, v), dt, p);
  }
  template <class D>
  static HWY_INLINE void store_some(D, hn::Vec<D> v, Out* p, index_t n) {
    const hn::Rebind<T, D> dt;
    store_part(dt, hn::DemoteTo(dt, v), p, n);
  }

 private:
  // Divisors that change along the row: in f32, as NarrowSum does.
  template <class D>
  static HWY_INLINE hn::Vec<D> divided_each(D d, hn::Vec<D> v, const PlaneLowering& b, index_t j) {
    const hn::Half<D> dh;
    const hn::Rebind<float, hn::Half<D>> df;
    const float* each = static_cast<const float*>(b.divisor_each) + j;
    const auto all = hn::Set(df, static_cast<float>(b.divisor));
    const auto half = [&](auto sums, const float* by) HWY_ATTR {
      const auto f = hn::ConvertTo(df, hn::PromoteTo(hn::RebindToSigned<decltype(df)>(), sums));
      return hn::DemoteTo(dh, hn::NearestInt(hn::Div(f, hn::Mul(all, hn::LoadU(df, by)))));
    };
    return hn::Combine(d, half(hn::UpperHalf(dh, v), each + lanes_of(dh)), half(hn::LowerHalf(dh, v), each));
  }
};

// Sums of 16-bit floats, in f32.
template <class Bits>
struct HalfSum : PlainFold<Sum, float> {
  using In = std::uint16_t;
  using Out = std::uint16_t;
  static constexpr In absent() { return 0x8000; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return Bits::widen(d, hn::LoadU(hn::Rebind<In, D>(), p));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return Bits::widen(d, load_part(hn::Rebind<In, D>(), p, n));
  }
  template <class D>
  static HWY_INLINE void split(D d, Halves<In, D> v, hn::Vec<D>& even, hn::Vec<D>& odd) requires requires {
    Bits::split(d, v, even, odd);
  }
  { Bits::split(d, v, even, odd); }
  template <class D>
  static HWY_INLINE Halves<Out, D> join(D d, hn::Vec<D> even, hn::Vec<D> odd) {
    return Bits::join(d, even, odd);
  }
  // A float quotient may be rounded again to 16 bits where the divisor is short and the quotient normal.
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, B by, index_t j) {
    if (b.lower == PlaneLower::none) return v;
    if (b.lower == PlaneLower::multiply) return hn::Mul(v, by);
    if (b.lower == PlaneLower::divide_each) {
      by = hn::Mul(by, hn::LoadU(d, static_cast<const float*>(b.divisor_each) + j));
    }
    const auto q = hn::Div(v, by);
    if (HWY_LIKELY(b.divisor < static_cast<double>(Bits::kPlainDivisors))) {
      if constexpr (!Bits::kSubnormalFloats) return q;
      const auto tiny = hn::And(hn::Lt(hn::Abs(q), hn::Set(d, 0x1p-125F)), hn::Ne(v, hn::Zero(d)));
      if (HWY_LIKELY(hn::AllFalse(d, tiny))) return q;
    }
    return odd_quotient(d, v, by, q);
  }
  // Rounded to an odd last bit: then rounding it again to 16 bits is right.
  template <class D>
  static HWY_INLINE hn::Vec<D> odd_quotient(D d, hn::Vec<D> v, hn::Vec<D> by, hn::Vec<D> q) {
    const auto rest = hn::NegMulAdd(q, by, v), zero = hn::Zero(d);
    const auto inexact = hn::Or(hn::Lt(rest, zero), hn::Gt(rest, zero));
    const hn::RebindToSigned<D> di;
    const auto one = hn::Set(di, 1), bits = hn::BitCast(di, q);
    const auto beyond = hn::Lt(hn::Xor(bits, hn::BitCast(di, rest)), hn::Zero(di));
    const auto cut = hn::IfThenElse(beyond, hn::Sub(bits, one), bits);
    return hn::IfThenElse(inexact, hn::BitCast(d, hn::Or(cut, one)), q);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, Out* p) {
    hn::StoreU(Bits::narrow(d, v), hn::Rebind<In, D>(), p);
  }
  template <class D>
  static HWY_INLINE void store_some(D d, hn::Vec<D> v, Out* p, index_t n) {
    store_part(hn::Rebind<In, D>(), Bits::narrow(d, v), p, n);
  }
};

struct F16Bits {
  static constexpr index_t kPlainDivisors = kHalfDivisors;
  static constexpr bool kSubnormalFloats = false;  // they are zeros of f16
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> v) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D, hn::Vec<D> v) {
    return hn::BitCast(hn::Rebind<std::uint16_t, D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  }
};
struct Bf16Bits {
  static constexpr index_t kPlainDivisors = kBfloat16Divisors;
  static constexpr bool kSubnormalFloats = true;
  template <class D>
  static HWY_INLINE void split(D d, Halves<std::uint16_t, D> v, hn::Vec<D>& even, hn::Vec<D>& odd) {
    const hn::RebindToUnsigned<D> du;
    const auto both = hn::BitCast(du, v);
    even = hn::BitCast(d, hn::ShiftLeft<16>(both));
    odd = hn::BitCast(d, hn::And(both, hn::Set(du, 0xffff0000U)));
  }
  template <class D>
  static HWY_INLINE Halves<std::uint16_t, D> join(D d, hn::Vec<D> even, hn::Vec<D> odd) {
    const hn::RebindToUnsigned<D> du;
    const auto high = hn::And(rounded(d, odd), hn::Set(du, 0xffff0000U));
    return hn::BitCast(hn::Repartition<std::uint16_t, D>(), hn::Or(hn::ShiftRight<16>(rounded(d, even)), high));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> v) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, v)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> narrow(D d, hn::Vec<D> v) {
    const hn::RebindToSigned<D> di;
    return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(), hn::BitCast(di, hn::ShiftRight<16>(rounded(d, v))));
  }

 private:
  // The bits of bf16 in the upper halves; what is below them is of no use.
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
    const auto nearest = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffU)));
    return hn::IfThenElse(hn::RebindMask(du, hn::Ne(v, v)), hn::Set(du, 0x7fc00000U), nearest);
  }
};
#endif

#if ORIEL_PLANES
// 32-bit integers summed in 64 bits, divided as f64: sums are below 2^52, so that a quotient is on the same side of
// every half, or on it, as the exact one.
struct WideSum {
  using Reduce = Sum;
  using In = std::int32_t;
  using Lane = std::int64_t;
  using Out = std::int32_t;
  using By = double;
  static constexpr bool kTree = false, kWatch = false;

  static constexpr In absent() { return 0; }
  static constexpr Lane identity() { return 0; }
  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const In* p) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<In, D>(), p));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> load_some(D d, const In* p, index_t n) {
    return hn::PromoteTo(d, load_part(hn::Rebind<In, D>(), p, n));
  }
  template <class D, class V>
  static HWY_INLINE V lift(D, V v) {
    return v;
  }
  // The bits of f64.
  template <class D, class B>
  static HWY_INLINE hn::Vec<D> lower(D d, hn::Vec<D> v, const PlaneLowering& b, B by, index_t j) {
    const hn::Rebind<double, D> df;
    auto f = hn::ConvertTo(df, v);
    if (b.lower == PlaneLower::multiply) f = hn::Mul(f, by);
    if (b.lower == PlaneLower::divide) f = hn::Div(f, by);
    if (b.lower == PlaneLower::divide_each) {
      f = hn::Div(f, hn::Mul(by, hn::LoadU(df, static_cast<const double*>(b.divisor_each) + j)));
    }
    return hn::BitCast(d, hn::Round(f));
  }
  template <class D>
  static HWY_INLINE void store(D, hn::Vec<D> v, Out* p) {
    const hn::Rebind<Out, D> dt;
    hn::StoreU(hn::DemoteTo(dt, hn::BitCast(hn::Rebind<double, D>(), v)), dt, p);
  }
  template <class D>
  static HWY_INLINE void store_some(D, hn::Vec<D> v, Out* p, index_t n) {
    const hn::Rebind<Out, D> dt;
    store_part(dt, hn::DemoteTo(dt, hn::BitCast(hn::Rebind<double, D>(), v)), p, n);
  }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
