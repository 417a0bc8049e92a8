// What becomes of a folded element of a small window on its way to y.
#pragma once

#include <bit>

#include "cpu/element/quotient.h"
#include "oriel/types.h"

namespace oriel::cpu {

enum class PlaneLower : std::uint8_t { none, multiply, divide, divide_each, root };

/// The bits of infinities.
inline constexpr std::int16_t kHalfInfinity = 0x7c00, kBfloat16Infinity = 0x7f80;

struct PlaneLowering {
  PlaneLower lower = PlaneLower::none;
  double divisor = 1;                  // its reciprocal for `multiply`
  const void* divisor_each = nullptr;  // of every element along the row, times `divisor`
  ShortQuotient quotient;              // by the divisor, for sums in 16 bits
  std::int16_t infinity = 0;           // of extrema of 16-bit floats: its bits

  /// One divisor for all elements of an average of `dtype`.
  void divide_all(index_t by, Dtype dtype) {
    // Then a product with the reciprocal is rounded alike; but a tiny one is rounded before bf16 is.
    const bool exact = std::has_single_bit(static_cast<std::uint64_t>(by)) && dtype != Dtype::bf16;
    lower = exact ? PlaneLower::multiply : PlaneLower::divide;
    divisor = exact ? 1 / static_cast<double>(by) : static_cast<double>(by);
    if (size_bytes(dtype) == 1 && by < ShortQuotient::kMost) quotient = ShortQuotient(by);
  }
};

}  // namespace oriel::cpu
