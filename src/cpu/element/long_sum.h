// Sums of 64-bit integers that may exceed 64 bits, for results of f32 and f64: the upper and the lower halves of the
// terms are added apart from each other.
#pragma once

#include <bit>
#include <cmath>

#include "oriel/types.h"

namespace oriel::cpu {

/// high 2^32 + low. Sums of less than 2^31 terms fit.
struct LongSum {
  std::int64_t high = 0;
  std::uint64_t low = 0;

  static constexpr std::uint64_t kLow = 0xffffffff;
  /// From here on `high` may be more than a double holds.
  static constexpr index_t kFewTerms = index_t{1} << 20;

  /// The same number with a low half below 2^32.
  constexpr LongSum carried() const { return {high + static_cast<std::int64_t>(low >> 32), low & kLow}; }
};

/// The number of R nearest to a sum of fewer than kFewTerms terms.
template <class R>
inline R rounded(LongSum sum) {
  const LongSum s = sum.carried();
  const double high = static_cast<double>(s.high) * 0x1p32, low = static_cast<double>(s.low);
  const double v = high + low;  // of two exact numbers
  if constexpr (std::is_same_v<R, double>) return v;
  // Rounded to an odd last bit, so that rounding it again is right.
  const double part = v - high, lost = (high - (v - part)) + (low - part);
  if (lost == 0 || (std::bit_cast<std::uint64_t>(v) & 1) != 0) return static_cast<R>(v);
  return static_cast<R>(std::nextafter(v, lost > 0 ? HUGE_VAL : -HUGE_VAL));
}

/// The double nearest to the quotient of a sum of fewer than kFewTerms terms by a whole number 0 < d < kShortDivisors.
inline constexpr double kShortDivisors = 0x1p26;
inline double short_ratio(LongSum sum, double d) {
  const LongSum s = sum.carried();
  const double high = static_cast<double>(s.high) * 0x1p32, low = static_cast<double>(s.low);
  const double v = high + low, part = v - high, lost = (high - (v - part)) + (low - part);
  const double q = v / d;
  // The rest, exactly: both parts of q have so few bits that their products by d do. A quotient is half-way between two
  // doubles, or farther from it by more than what the last two operations lose.
  constexpr std::uint64_t kUpper = ~std::uint64_t{(1U << 26) - 1};
  const auto upper = std::bit_cast<double>(std::bit_cast<std::uint64_t>(q) & kUpper);
  const double rest = (v - upper * d) - (q - upper) * d;
  return q + (rest + lost) / d;
}

/// The number of R nearest to a quotient by 0 < divisor < 2^31.
template <class R>
inline R rounded_ratio(LongSum sum, index_t divisor) {
  __extension__ typedef __int128 Wide;  // not ISO C++, known to every compiler we build with
  __extension__ typedef unsigned __int128 Magnitude;
  const Wide s = (static_cast<Wide>(sum.high) << 32) + sum.low;
  const bool negative = s < 0;
  Magnitude n = static_cast<Magnitude>(negative ? -s : s);
  if (n == 0) return R{0};
  const auto d = static_cast<std::uint64_t>(divisor);
  const auto top = static_cast<std::uint64_t>(n >> 64);
  const int bits =
      static_cast<int>(top != 0 ? 64 + std::bit_width(top) : std::bit_width(static_cast<std::uint64_t>(n)));
  // The quotient of n 2^scale has 63 or 64 bits; its last bit is set if anything is lost.
  int scale = 63 + static_cast<int>(std::bit_width(d)) - bits;
  bool lost = false;
  if (scale >= 0) {
    n <<= scale;
  } else {
    lost = (n & ((Magnitude{1} << -scale) - 1)) != 0;
    n >>= -scale;
  }
  const auto q = static_cast<std::uint64_t>(n / d);
  lost = lost || n != static_cast<Magnitude>(q) * d;
  const auto unit = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - scale) << 52);  // 2^-scale
  const R magnitude = static_cast<R>(q | (lost ? 1 : 0)) * static_cast<R>(unit);
  return negative ? -magnitude : magnitude;
}

}  // namespace oriel::cpu
