// Division by a number that stays the same for a launch: a multiplication and shifts (Granlund and Montgomery, PLDI
// 1994).
#pragma once

#include <bit>
#include <cstdint>

#include "oriel/types.h"

namespace oriel::cuda {

/// Divides numbers of type I, std::uint32_t or std::uint64_t, below 2^31 or 2^63.
template <class I>
struct Divider {
  static constexpr int kBits = 8 * static_cast<int>(sizeof(I));
  I divisor = 1;
  I magic = 0;
  int shift = 0;

  Divider() = default;
  explicit Divider(index_t d) : divisor(static_cast<I>(d == 0 ? 1 : d)) {   // an empty walk divides nothing
    shift = static_cast<int>(std::bit_width(static_cast<I>(divisor - 1)));  // ceil(log2 d)
    __extension__ typedef unsigned __int128 wide;
    const wide excess = (wide{1} << shift) - divisor;
    magic = static_cast<I>((excess << kBits) / divisor + 1);
  }

  ORIEL_HD I quotient(I n) const {
    const I high = multiply_high(n);
    return shift == 0 ? n : (high + ((n - high) >> 1)) >> (shift - 1);
  }

  /// n becomes the quotient; returns the remainder.
  ORIEL_HD I take(I& n) const {
    const I q = quotient(n), rest = n - q * divisor;
    n = q;
    return rest;
  }

 private:
  ORIEL_HD I multiply_high(I n) const {
#if defined(__CUDA_ARCH__)
    if constexpr (kBits == 32)
      return __umulhi(n, magic);
    else
      return __umul64hi(n, magic);
#else
    __extension__ typedef unsigned __int128 wide;
    return static_cast<I>((static_cast<wide>(n) * magic) >> kBits);
#endif
  }
};

}  // namespace oriel::cuda
