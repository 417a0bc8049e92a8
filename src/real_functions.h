// Exponentials and logarithms in f64 whose bits are the same on every machine: one polynomial each, in a fixed order,
// without fused multiplications (S19). The error is about one unit in the last place.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace oriel {

namespace detail {

inline constexpr double kLog2OfE = 0x1.71547652b82fep+0;
// ln 2 in two parts; the first has 21 trailing zeros, so that its products with exponents are exact.
inline constexpr double kLn2High = 0x1.62e42feep-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kRoundingShift = 0x1.8p52;  // adding and subtracting it rounds to whole numbers

// 2^e for -1022 <= e <= 1023.
inline double power_of_two(std::int64_t e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

}  // namespace detail

/// e^x; 0 and infinity beyond the range of f64.
inline double fixed_exp(double x) {
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
inline double fixed_log(double x) {
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

}  // namespace oriel
