// Division that is rounded once, although it goes through a longer type.
#pragma once

#include <bit>
#include <cmath>

#include "oriel/types.h"

namespace oriel::cpu {

// a / d rounded to an odd last bit, so that rounding it again to a shorter type is right. For divisors that a float
// does not hold.
inline double odd_quotient(double a, index_t divisor) {
  const double d = static_cast<double>(divisor), q = a / d;
  const double rest = std::fma(-q, d, a);
  if (!(rest != 0) || (std::bit_cast<std::uint64_t>(q) & 1) != 0) return q;
  return std::nextafter(q, rest > 0 ? HUGE_VAL : -HUGE_VAL);
}

}  // namespace oriel::cpu
