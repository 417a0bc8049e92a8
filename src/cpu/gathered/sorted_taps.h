// The order of S16: by value, -0 before +0.
#pragma once

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

}  // namespace oriel::cpu
