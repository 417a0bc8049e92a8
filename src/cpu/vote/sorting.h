// Networks that sort: Batcher's merging of odd and even places.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace oriel::cpu {

/// Calls pair(a, b), a < b, for the comparators that sort n values, in their order.
template <class Pair>
constexpr void each_comparator(int n, const Pair& pair) {
  for (int p = 1; p < n; p *= 2) {
    for (int k = p; k >= 1; k /= 2) {
      for (int j = k % p; j + k < n; j += 2 * k) {
        for (int i = 0; i < k && i + j + k < n; ++i) {
          if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) pair(i + j, i + j + k);
        }
      }
    }
  }
}

constexpr int comparator_count(int n) {
  int count = 0;
  each_comparator(n, [&](int, int) { ++count; });
  return count;
}

/// The comparators of a network for kTaps values.
template <int kTaps>
struct SortingNetwork {
  static constexpr int kPairs = comparator_count(kTaps);
  std::array<std::uint8_t, 2 * std::size_t{kPairs}> places{};

  constexpr SortingNetwork() {
    std::size_t at = 0;
    each_comparator(kTaps, [&](int a, int b) {
      places[at++] = static_cast<std::uint8_t>(a);
      places[at++] = static_cast<std::uint8_t>(b);
    });
  }
};

}  // namespace oriel::cpu
