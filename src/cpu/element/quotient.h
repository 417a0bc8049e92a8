// Division that is rounded once, although it goes through a longer type.
#pragma once

#include <bit>
#include <cmath>

#include "oriel/types.h"

namespace oriel::cpu {

// A float quotient that is rounded again to p bits is right where the divisor has at most 23 - p bits: the exact
// quotient is then no nearer to the middle between two results than half a unit of the float, but for float subnormals.
inline constexpr index_t kHalfDivisors = index_t{1} << 12;
inline constexpr index_t kBfloat16Divisors = index_t{1} << 15;
// a / d rounded to an odd last bit, so that rounding it again to a shorter type is right. For divisors that a float
// does not hold.
inline double odd_quotient(double a, index_t divisor) {
  const double d = static_cast<double>(divisor), q = a / d;
  const double rest = std::fma(-q, d, a);
  if (!(rest != 0) || (std::bit_cast<std::uint64_t>(q) & 1) != 0) return q;
  return std::nextafter(q, rest > 0 ? HUGE_VAL : -HUGE_VAL);
}

/// Division of sums by one divisor in 16 bits: rounded half to even by a multiplication, exactly. Whole numbers n below
/// kMost are n * multiplier >> 16 >> shift after division by the divisor: the multiplier is too large by less than the
/// divisor, at most 2^(shift + 1), so that the product is too large by less than 2^(16 + shift).
struct ShortQuotient {
  static constexpr index_t kMost = index_t{1} << 15;

  std::uint16_t multiplier = 0;
  std::uint16_t half = 0;     // of the divisor, rounded down
  std::uint16_t divisor = 1;  // 1: nothing is to be done
  std::uint16_t even = 0;     // 1 where the divisor is: only then are there ties
  int shift = 0;

  /// Whether sums of at most this magnitude can be divided so.
  static constexpr bool holds(index_t sum, index_t by) { return by < kMost && sum + by / 2 < kMost; }

  constexpr ShortQuotient() = default;
  constexpr explicit ShortQuotient(index_t by)
      : half(static_cast<std::uint16_t>(by / 2)),
        divisor(static_cast<std::uint16_t>(by)),
        even(static_cast<std::uint16_t>(by % 2 == 0)),
        shift(by > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(by - 1))) - 1 : 0) {
    if (by > 1) multiplier = static_cast<std::uint16_t>(((index_t{65536} << shift) + by - 1) / by);
  }

  /// sum / divisor for a sum >= 0: what the vector kernels do.
  constexpr std::uint16_t of(std::uint16_t sum) const {
    if (divisor == 1) return sum;
    const std::uint32_t n = std::uint32_t{sum} + half;
    const std::uint32_t q = (n * multiplier >> 16) >> shift;
    return static_cast<std::uint16_t>(q - (q * divisor == n ? q & even : 0));
  }
};

}  // namespace oriel::cpu
