// Sums that outputs are scattered into: terms one after another, rounded once (S7, S9).
#pragma once

#include <algorithm>

#include "oriel/types.h"

namespace oriel::cpu {

/// Integers of 64 bits are added modulo 2^64.
template <class A>
void add_to_sum(A& sum, A term) {
  if constexpr (std::is_integral_v<A>) {
    sum = static_cast<A>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(term));
  } else {
    sum += term;
  }
}

/// A sum as an element: to the nearest value of the type.
template <class T>
T rounded_sum(accumulator_t<T> sum) {
  if constexpr (is_floating_v<T>) {
    return static_cast<T>(sum + accumulator_t<T>{0});
  } else if constexpr (std::is_same_v<T, bool8>) {
    return bool8(sum > 0);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(sum);
  } else {
    return static_cast<T>(std::clamp<std::int64_t>(sum, lowest_value<T>(), highest_value<T>()));
  }
}

}  // namespace oriel::cpu
