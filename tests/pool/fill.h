// Elements to test with.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "oriel/types.h"

namespace oriel::test {

enum class Data {
  integers,  // small whole numbers: ties everywhere, sums exact in every order
  reals,     // numbers whose sums depend on the order
  specials,  // NaN, infinities, both zeros, subnormals among them; extremes of integers
  spread     // magnitudes far apart; integers over their whole range
};
inline constexpr Data kAllData[] = {Data::integers, Data::reals, Data::specials, Data::spread};

inline const char* name(Data data) {
  const char* names[] = {"integers", "reals", "specials", "spread"};
  return names[static_cast<int>(data)];
}

template <class T>
T random_float(Data data, std::mt19937_64& random) {
  const double whole = static_cast<double>(random() % 17) - 8;
  const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
  if (data == Data::integers) return T(whole);
  if (data == Data::reals) return T(unit * 4 - 2);
  if (data == Data::spread) return T(std::ldexp(unit - 0.5, static_cast<int>(random() % 20) - 10));
  switch (random() % 24) {
    case 0:
    case 1:
      return T(std::nan(""));
    case 2:
      return T(-std::nan(""));
    case 3:
      return T(HUGE_VAL);
    case 4:
      return T(-HUGE_VAL);
    case 5:
    case 6:
      return T(-0.0);
    case 7:
    case 8:
      return T(0.0);
    case 9:
      return T(std::is_same_v<T, half> ? 6e-8 : std::is_same_v<T, double> ? 5e-324 : 1e-40);
    default:
      return T(whole);
  }
}

template <class T>
T random_element(Data data, std::mt19937_64& random) {
  if constexpr (is_floating_v<T>) {
    return random_float<T>(data, random);
  } else if constexpr (std::is_same_v<T, bool8>) {
    bool8 b;  // any byte but zero is true
    b.byte = random() % 2 == 0 ? 0 : data == Data::integers ? 1 : static_cast<std::uint8_t>(random());
    return b;
  } else {
    if (data == Data::spread) return static_cast<T>(random());
    if (data == Data::specials && random() % 3 == 0)
      return random() % 2 == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    const int small = static_cast<int>(random() % 17);
    return static_cast<T>(std::is_signed_v<T> ? small - 8 : small);
  }
}

/// `count` elements.
inline std::vector<std::byte> fill(Dtype dtype, index_t count, Data data, std::mt19937_64& random) {
  return visit(dtype, [&]<class T>() {
    std::vector<std::byte> out(static_cast<std::size_t>(count) * sizeof(T));
    for (index_t i = 0; i < count; ++i) {
      const T v = random_element<T>(data, random);
      std::memcpy(out.data() + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
    }
    return out;
  });
}

}  // namespace oriel::test
