// Powers and roots of Lp norms, a vector at a time, with the bits of norm_power and norm_root. Included once per
// target.
#if defined(ORIEL_CPU_SIMD_NORM_POWERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ORIEL_CPU_SIMD_NORM_POWERS_INL_H
#undef ORIEL_CPU_SIMD_NORM_POWERS_INL_H
#else
#define ORIEL_CPU_SIMD_NORM_POWERS_INL_H
#endif

#include "hwy/highway.h"
#include "oriel/types.h"
#include "real_functions.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Operation by operation what real_functions.h does, without its branches: numbers >= 0 or NaN, exponents > 0.
struct PowerVectors {
  using Tag = hn::ScalableTag<double>;
  using V = hn::Vec<Tag>;
  using Integers = hn::RebindToSigned<Tag>;

  struct Parts {
    V high, low;
  };

  static HWY_INLINE V set(double c) { return hn::Set(Tag(), c); }

  static HWY_INLINE Parts sum_of(V a, V b) {
    const V high = hn::Add(a, b);
    return {high, hn::Sub(b, hn::Sub(high, a))};
  }

  // The low part is exact, so a fused multiplication gives its bits, too.
  static HWY_INLINE Parts product_of(V a, V b) {
    const V high = hn::Mul(a, b);
#if HWY_NATIVE_FMA
    return {high, hn::MulSub(a, b, high)};
#else
    const V split = set(134217729.0);
    const V ta = hn::Mul(split, a), tb = hn::Mul(split, b);
    const V ah = hn::Sub(ta, hn::Sub(ta, a)), al = hn::Sub(a, ah);
    const V bh = hn::Sub(tb, hn::Sub(tb, b)), bl = hn::Sub(b, bh);
    const V cross = hn::Add(hn::Add(hn::Sub(hn::Mul(ah, bh), high), hn::Mul(ah, bl)), hn::Mul(al, bh));
    return {high, hn::Add(cross, hn::Mul(al, bl))};
#endif
  }

  static HWY_INLINE Parts times(Parts a, Parts b) {
    const Parts p = product_of(a.high, b.high);
    return sum_of(p.high, hn::Add(p.low, hn::Add(hn::Mul(a.high, b.low), hn::Mul(a.low, b.high))));
  }

  static HWY_INLINE Parts log_of(V x) {
    const Tag d;
    const Integers di;
    const auto small = hn::Lt(x, set(0x1p-1022));
    x = hn::IfThenElse(small, hn::Mul(x, set(0x1p54)), x);
    const auto bits = hn::BitCast(di, x);
    auto e = hn::Sub(hn::ShiftRight<52>(bits), hn::Set(di, 1023));
    e = hn::Sub(e, hn::IfThenElseZero(hn::RebindMask(di, small), hn::Set(di, 54)));
    V m = hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, 0xfffffffffffffLL)), hn::Set(di, 1023LL << 52)));
    const auto upper = hn::Gt(m, set(0x1.6a09e667f3bcdp+0));
    m = hn::IfThenElse(upper, hn::Mul(m, set(0.5)), m);
    e = hn::Add(e, hn::IfThenElseZero(hn::RebindMask(di, upper), hn::Set(di, 1)));
    const V f = hn::Sub(m, set(1));
    const Parts below = sum_of(set(2), f);
    const V quotient = hn::Div(f, below.high);
    const Parts back = product_of(quotient, below.high);
    const V remainder = hn::Sub(hn::Sub(hn::Sub(f, back.high), back.low), hn::Mul(quotient, below.low));
    const Parts s = sum_of(quotient, hn::Div(remainder, below.high));
    const Parts z = times(s, s);
    V p = set(1.0 / 25.0);
    const auto step = [&](double c) HWY_ATTR { p = hn::Add(hn::Mul(p, z.high), set(c)); };
    step(1.0 / 23.0);
    step(1.0 / 21.0);
    step(1.0 / 19.0);
    step(1.0 / 17.0);
    step(1.0 / 15.0);
    step(1.0 / 13.0);
    step(1.0 / 11.0);
    step(1.0 / 9.0);
    step(1.0 / 7.0);
    step(1.0 / 5.0);
    const V fifth = hn::Mul(p, z.high);
    const Parts rest = sum_of(set(1.0 / 3.0), hn::Add(set(0x1.5555555555555p-56), fifth));
    const Parts cubed = times(times(z, rest), s);
    const Parts half = sum_of(s.high, cubed.high);
    const Parts log = sum_of(hn::Mul(set(2), half.high), hn::Mul(set(2), hn::Add(half.low, hn::Add(s.low, cubed.low))));
    const V k = hn::ConvertTo(d, e);
    const Parts low = product_of(k, set(detail::kLn2Low));
    const Parts high = sum_of(hn::Mul(k, set(detail::kLn2High)), log.high);
    const Parts all = sum_of(high.high, hn::Add(low.high, hn::Add(high.low, hn::Add(log.low, low.low))));
    const auto whole = hn::Eq(k, hn::Zero(d));
    return {hn::IfThenElse(whole, log.high, all.high), hn::IfThenElse(whole, log.low, all.low)};
  }

  static HWY_INLINE V exp_of(Parts x) {
    const Tag d;
    const Integers di;
    const V shift = set(detail::kRoundingShift);
    const V shifted = hn::Add(hn::Mul(x.high, set(detail::kLog2OfE)), shift);
    const V k = hn::Sub(shifted, shift);
    const Parts away =
        sum_of(hn::Sub(x.high, hn::Mul(k, set(detail::kLn2High))), hn::Neg(hn::Mul(k, set(detail::kLn2Low))));
    const Parts r = sum_of(away.high, hn::Add(away.low, x.low));
    V p = set(1.0 / 6227020800.0);
    const auto step = [&](double c) HWY_ATTR { p = hn::Add(hn::Mul(p, r.high), set(c)); };
    step(1.0 / 479001600.0);
    step(1.0 / 39916800.0);
    step(1.0 / 3628800.0);
    step(1.0 / 362880.0);
    step(1.0 / 40320.0);
    step(1.0 / 5040.0);
    step(1.0 / 720.0);
    step(1.0 / 120.0);
    step(1.0 / 24.0);
    step(1.0 / 6.0);
    step(0.5);
    const V curve = hn::Mul(hn::Mul(r.high, r.high), p);
    const Parts tail = sum_of(r.high, hn::Add(hn::Mul(r.low, hn::Add(set(1), r.high)), curve));
    const Parts power = sum_of(set(1), tail.high);
    const V mantissa = hn::Add(power.high, hn::Add(power.low, tail.low));
    // The last bits of `shifted` are those of k. In two steps, as 2^k may be a subnormal or too large.
    const auto e = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, shift));
    const auto half = hn::ShiftRight<1>(e);
    const auto scale = [&](hn::Vec<Integers> by)
                           HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(by, hn::Set(di, 1023)))); };
    return hn::Mul(hn::Mul(mantissa, scale(half)), scale(hn::Sub(e, half)));
  }

  static HWY_INLINE V power(V x, detail::TwoParts y) {
    const Tag d;
    const auto itself = hn::Or(hn::Eq(x, hn::Zero(d)), hn::Not(hn::Lt(x, hn::Inf(d))));  // 0, infinity, NaN
    Parts log = log_of(hn::IfThenElse(itself, set(1), x));
    const V about = hn::Mul(log.high, set(y.high));
    const auto above = hn::Gt(about, set(709.8)), below = hn::Lt(about, set(-745.2));
    const auto beyond = hn::Or(above, below);
    log = {hn::IfThenZeroElse(beyond, log.high), hn::IfThenZeroElse(beyond, log.low)};
    V result = exp_of(times(log, {set(y.high), set(y.low)}));
    result = hn::IfThenElse(above, hn::Inf(d), hn::IfThenZeroElse(below, result));
    return hn::IfThenElse(itself, x, result);
  }
};

constexpr double kMostVectorNorm = 0x1p64;  // inverses of larger ones have no second part

// v[i] = norm_power(v[i], p) of numbers that are >= 0 or NaN, p no whole number.
inline void take_norm_powers(double* v, index_t n, double p) {
  const hn::ScalableTag<double> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  index_t i = 0;
  if (p < kMostVectorNorm)
    for (; i + step <= n; i += step) hn::StoreU(PowerVectors::power(hn::LoadU(d, v + i), {p, 0}), d, v + i);
  for (; i < n; ++i) v[i] = norm_power(v[i], p);
}

// v[i] = norm_root(v[i], p) of numbers that are >= 0 or NaN.
inline void take_norm_roots(double* v, index_t n, double p) {
  const hn::ScalableTag<double> d;
  const index_t step = static_cast<index_t>(hn::Lanes(d));
  const int roots = p == 2 ? 1 : p == 4 ? 2 : p == 8 ? 3 : p == 16 ? 4 : 0;
  index_t i = 0;
  if (roots == 0 && p < kMostVectorNorm) {
    const detail::TwoParts inverse = detail::inverse_of(p);
    for (; i + step <= n; i += step) hn::StoreU(PowerVectors::power(hn::LoadU(d, v + i), inverse), d, v + i);
  } else if (roots > 0) {
    for (; i + step <= n; i += step) {
      auto x = hn::LoadU(d, v + i);
      for (int root = 0; root < roots; ++root) x = hn::Sqrt(x);
      hn::StoreU(x, d, v + i);
    }
  }
  for (; i < n; ++i) v[i] = norm_root(v[i], p);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::cpu
HWY_AFTER_NAMESPACE();
#endif
