// The order of S16: by value, -0 before +0.
#pragma once

#include <cmath>

#include "cpu/gathered/taps.h"

namespace oriel::cpu {

/// Whether a comes before b; neither is NaN.
template <class T>
bool comes_before(T a, T b) {
  const auto x = number_of(a), y = number_of(b);
  if constexpr (is_floating_v<T>) {
    if (x == y) return std::signbit(x) && !std::signbit(y);
  }
  return x < y;
}

/// The place h = (n - 1) q among n sorted taps, between the whole places low and high, `share` above low.
struct QuantilePlace {
  index_t low = 0;
  index_t high = 0;
  double share = 0;
};

/// Of a method that selects a tap low and high are its place; of the others those that it lies between.
inline QuantilePlace place_of_quantile(Quantile method, double q, index_t n) {
  const double last = static_cast<double>(n - 1), h = last * q;
  const auto floor = static_cast<index_t>(std::floor(h));
  const auto one = [](index_t place) { return QuantilePlace{place, place, 0}; };
  switch (method) {
    case Quantile::lower:
      return one(floor);
    case Quantile::higher:
      return one(static_cast<index_t>(std::ceil(h)));
    case Quantile::nearest:
      return one(static_cast<index_t>(std::nearbyint(h)));
    case Quantile::inverted_cdf:
      return one(std::max<index_t>(static_cast<index_t>(std::ceil(static_cast<double>(n) * q)) - 1, 0));
    case Quantile::scipy:
      return one(std::min(static_cast<index_t>(std::floor(static_cast<double>(n) * q)), n - 1));
    case Quantile::midpoint:
    case Quantile::linear:
      break;
  }
  return {floor, std::min(static_cast<index_t>(std::ceil(h)), n - 1), h - std::floor(h)};
}

__extension__ typedef __int128 sorted_wide_int;  // not ISO C++, known to every compiler we build with

/// A whole number and what is above it, in units of 2^-62.
struct WholeAndShare {
  sorted_wide_int whole = 0;
  sorted_wide_int rest = 0;
};
inline constexpr int kShareBits = 62;
inline constexpr sorted_wide_int kHalfShare = sorted_wide_int{1} << (kShareBits - 1);

/// What lies `share` of the way from one integer to the next: exact but for the share's bits beyond 62.
template <class T>
WholeAndShare whole_between(T low, T high, double share) {
  const sorted_wide_int a = number_of(low), distance = sorted_wide_int{number_of(high)} - a;
  const sorted_wide_int above = distance * static_cast<sorted_wide_int>(std::ldexp(share, kShareBits));
  const sorted_wide_int whole = above >> kShareBits;
  return {a + whole, above - (whole << kShareBits)};
}

/// What lies `share` of the way from one sorted tap to the next, or in their middle, rounded once to their type.
template <class T>
T between_taps(T low, T high, double share, bool middle) {
  if constexpr (is_floating_v<T>) {
    const auto a = static_cast<double>(number_of(low)), b = static_cast<double>(number_of(high)), sum = a + b;
    if (a == b && std::isinf(a)) return low;
    if (middle) return static_cast<T>(std::isinf(sum) ? a / 2 + b / 2 : sum / 2);
    return static_cast<T>(a + (b - a) * share);
  } else if constexpr (sizeof(T) <= 4 && !std::is_same_v<T, bool8>) {
    const std::int64_t a = low, b = high;
    if (middle) {
      const std::int64_t half = (a + b) >> 1;
      return static_cast<T>(half + ((a + b) & half & 1));
    }
    return static_cast<T>(std::nearbyint(static_cast<double>(a) + static_cast<double>(b - a) * share));
  } else {
    const auto [n, rest] = whole_between(low, high, middle ? 0.5 : share);
    const bool up = rest > kHalfShare || (rest == kHalfShare && n % 2 != 0);
    if constexpr (std::is_same_v<T, bool8>)
      return bool8(n + (up ? 1 : 0) > 0);
    else
      return static_cast<T>(n + (up ? 1 : 0));
  }
}

}  // namespace oriel::cpu
