// Exponentials, logarithms and powers in f64 whose bits are the same on every machine: one polynomial each, in a fixed
// order, without fused multiplications (S7, S19). The error is about one unit in the last place.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oriel/types.h"

namespace oriel {

namespace detail {

inline constexpr double kLog2OfE = 0x1.71547652b82fep+0;
// ln 2 in two parts; the first has 21 trailing zeros, so that its products with exponents are exact.
inline constexpr double kLn2High = 0x1.62e42feep-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kRoundingShift = 0x1.8p52;  // adding and subtracting it rounds to whole numbers

// 2^e for -1022 <= e <= 1023.
ORIEL_HD inline double power_of_two(std::int64_t e) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

}  // namespace detail

/// e^x; 0 and infinity beyond the range of f64.
ORIEL_HD inline double fixed_exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return std::numeric_limits<double>::infinity();
  if (x < -745.1332191019412) return 0;
  const double k = (x * detail::kLog2OfE + detail::kRoundingShift) - detail::kRoundingShift;
  const double r = (x - k * detail::kLn2High) - k * detail::kLn2Low;  // |r| <= ln(2) / 2
  // Taylor's series up to r^13 / 13!, whose next term is below 2^-57.
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  const double power = 1.0 + (r + r * r * p);
  const auto e = static_cast<std::int64_t>(k);
  const std::int64_t half = e / 2;  // in two steps, as 2^e may be a subnormal or too large
  return power * detail::power_of_two(half) * detail::power_of_two(e - half);
}

/// The natural logarithm; -infinity of 0, NaN of negative numbers.
ORIEL_HD inline double fixed_log(double x) {
  if (x != x || x == std::numeric_limits<double>::infinity()) return x;
  if (x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  std::int64_t e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  e += static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffULL) | (std::uint64_t{1023} << 52));
  if (m > 0x1.6a09e667f3bcdp+0) {  // sqrt(2): m is between its inverse and it
    m *= 0.5;
    ++e;
  }
  // log(m) = 2 s (1 + s^2/3 + s^4/5 + ...) with s = (m - 1) / (m + 1), |s| < 0.1716.
  const double f = m - 1, s = f / (m + 1), z = s * s;
  double p = 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  // 2 s = f - s f, so that the leading term f is exact.
  const double rest = s * (2 * z * p - f);
  const auto k = static_cast<double>(e);
  return k * detail::kLn2High + (f + (rest + k * detail::kLn2Low));
}

namespace detail {

/// A number as the exact sum of two, the second below half a unit in the last place of the first.
struct TwoParts {
  double high = 0;
  double low = 0;
};

// a + b exactly, for |a| >= |b| or a = 0.
ORIEL_HD inline TwoParts sum_of(double a, double b) {
  const double high = a + b;
  return {high, b - (high - a)};
}

// a * b exactly, by halves of 26 bits; |a|, |b| below 2^996, the product no subnormal.
ORIEL_HD inline TwoParts product_of(double a, double b) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double ta = kSplit * a, tb = kSplit * b;
  const double ah = ta - (ta - a), al = a - ah, bh = tb - (tb - b), bl = b - bh;
  const double high = a * b;
  return {high, ((ah * bh - high) + ah * bl + al * bh) + al * bl};
}

ORIEL_HD inline TwoParts times(TwoParts a, TwoParts b) {
  const TwoParts p = product_of(a.high, b.high);
  return sum_of(p.high, p.low + (a.high * b.low + a.low * b.high));
}

// log(x) of a finite x > 0, to about 2^-65 of it.
ORIEL_HD inline TwoParts two_part_log(double x) {
  std::int64_t e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  e += static_cast<std::int64_t>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffULL) | (std::uint64_t{1023} << 52));
  if (m > 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++e;
  }
  // As fixed_log; the quotient s and the first two terms in two parts.
  const double f = m - 1;
  const TwoParts below = sum_of(2, f);
  const double quotient = f / below.high;
  const TwoParts back = product_of(quotient, below.high);
  const TwoParts s = sum_of(quotient, (((f - back.high) - back.low) - quotient * below.low) / below.high);
  const TwoParts z = times(s, s);
  double p = 1.0 / 25.0;
  p = p * z.high + 1.0 / 23.0;
  p = p * z.high + 1.0 / 21.0;
  p = p * z.high + 1.0 / 19.0;
  p = p * z.high + 1.0 / 17.0;
  p = p * z.high + 1.0 / 15.0;
  p = p * z.high + 1.0 / 13.0;
  p = p * z.high + 1.0 / 11.0;
  p = p * z.high + 1.0 / 9.0;
  p = p * z.high + 1.0 / 7.0;
  p = p * z.high + 1.0 / 5.0;
  constexpr TwoParts kThird = {1.0 / 3.0, 0x1.5555555555555p-56};
  const double fifth = p * z.high;
  const TwoParts rest = sum_of(kThird.high, kThird.low + fifth);
  const TwoParts cubed = times(times(z, rest), s);  // s^3 / 3 + s^5 / 5 + ...
  TwoParts log = sum_of(s.high, cubed.high);
  log = sum_of(2 * log.high, 2 * (log.low + (s.low + cubed.low)));
  const auto k = static_cast<double>(e);
  if (e == 0) return log;
  const TwoParts low = product_of(k, kLn2Low);
  const TwoParts high = sum_of(k * kLn2High, log.high);
  return sum_of(high.high, low.high + (high.low + (log.low + low.low)));
}

// e^(x.high + x.low) of sums between -745.2 and 709.8.
ORIEL_HD inline double exp_of(TwoParts x) {
  const double k = (x.high * kLog2OfE + kRoundingShift) - kRoundingShift;
  const TwoParts away = sum_of(x.high - k * kLn2High, -(k * kLn2Low));
  const TwoParts r = sum_of(away.high, away.low + x.low);
  double p = 1.0 / 6227020800.0;
  p = p * r.high + 1.0 / 479001600.0;
  p = p * r.high + 1.0 / 39916800.0;
  p = p * r.high + 1.0 / 3628800.0;
  p = p * r.high + 1.0 / 362880.0;
  p = p * r.high + 1.0 / 40320.0;
  p = p * r.high + 1.0 / 5040.0;
  p = p * r.high + 1.0 / 720.0;
  p = p * r.high + 1.0 / 120.0;
  p = p * r.high + 1.0 / 24.0;
  p = p * r.high + 1.0 / 6.0;
  p = p * r.high + 0.5;
  const TwoParts tail = sum_of(r.high, r.low * (1.0 + r.high) + r.high * r.high * p);
  const TwoParts power = sum_of(1.0, tail.high);
  const double whole = power.high + (power.low + tail.low);
  const auto e = static_cast<std::int64_t>(k);
  const std::int64_t half = e / 2;
  return whole * power_of_two(half) * power_of_two(e - half);
}

}  // namespace detail

namespace detail {

// x^(y.high + y.low); see fixed_pow.
ORIEL_HD inline double power_of(double x, TwoParts y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (y.high == 0 || x == 1) return 1;
  if (x != x) return x;
  if (y.high != y.high || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || x == kInfinity) return (x == 0) == (y.high > 0) ? 0 : kInfinity;
  if (y.high == kInfinity || y.high == -kInfinity) return (x < 1) == (y.high > 0) ? 0 : kInfinity;
  const TwoParts log = two_part_log(x);
  const double about = log.high * y.high;
  if (about > 709.8) return kInfinity;
  if (about < -745.2) return 0;
  if (about > -0x1p-60 && about < 0x1p-60) return 1 + about;
  return exp_of(times(log, y));
}

// 1 / p to twice the bits.
ORIEL_HD inline TwoParts inverse_of(double p) {
  const double inverse = 1 / p;
  const TwoParts product = product_of(inverse, p);
  return {inverse, ((1 - product.high) - product.low) / p};
}

}  // namespace detail

/// x^y; NaN of negative x. Above the subnormals the error is below 0.65 units in the last place.
ORIEL_HD inline double fixed_pow(double x, double y) { return detail::power_of(x, {y, 0}); }

/// Whether powers by p are products.
ORIEL_HD inline bool is_whole_norm(double p) { return p <= 64 && p == static_cast<double>(static_cast<int>(p)); }

/// x^p of x >= 0 as Lp norms have it (S7): a product if p is a whole number up to 64, x^5 being x * (x^2)^2.
ORIEL_HD inline double norm_power(double x, double p) {
  if (!is_whole_norm(p)) return fixed_pow(x, p);
  double power = 1;
  for (auto rest = static_cast<unsigned>(p);; x *= x) {
    if (rest % 2 == 1) power *= x;
    if ((rest /= 2) == 0) return power;
  }
}

/// The p-th root of s >= 0 as Lp norms have it (S7): square roots if p is 2, 4, 8 or 16, else s^(1/p),
/// of which 1 / p has twice the bits of f64, so that roots of whole powers are whole.
ORIEL_HD inline double norm_root(double s, double p) {
  if (p == 2) return std::sqrt(s);
  if (p == 4) return std::sqrt(std::sqrt(s));
  if (p == 8) return std::sqrt(std::sqrt(std::sqrt(s)));
  if (p == 16) return std::sqrt(std::sqrt(std::sqrt(std::sqrt(s))));
  return p > 0x1p900 ? fixed_pow(s, 1 / p) : detail::power_of(s, detail::inverse_of(p));
}

}  // namespace oriel
