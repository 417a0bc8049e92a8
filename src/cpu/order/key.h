// Elements as integers that have their order, -0 before +0 (S16): one key type for each size of an element.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "oriel/types.h"

namespace oriel::cpu {

template <std::size_t kBytes>
struct KeyOfBytes;
template <>
struct KeyOfBytes<1> {
  using type = std::uint8_t;
};
template <>
struct KeyOfBytes<2> {
  using type = std::uint16_t;
};
template <>
struct KeyOfBytes<4> {
  using type = std::uint32_t;
};
template <>
struct KeyOfBytes<8> {
  using type = std::int64_t;  // AVX2 compares these, but no unsigned ones
};

/// Keys are unsigned, those of 8 bytes signed.
template <class T>
using key_t = typename KeyOfBytes<sizeof(T)>::type;

template <class T>
constexpr key_t<T> key_of(T value) {
  using K = key_t<T>;
  using U = std::make_unsigned_t<K>;
  constexpr U kTop = U(U(1) << (sizeof(T) * 8 - 1));
  if constexpr (std::is_same_v<T, bool8>) {
    return value.byte != 0 ? K(1) : K(0);
  } else {
    const U bits = std::bit_cast<U>(value);
    U ordered = bits;  // as an unsigned integer
    if constexpr (is_floating_v<T>) {
      ordered = (bits & kTop) != 0 ? U(~bits) : U(bits | kTop);
    } else if constexpr (std::is_signed_v<T>) {
      ordered = U(bits ^ kTop);
    }
    return static_cast<K>(std::is_signed_v<K> ? U(ordered ^ kTop) : ordered);
  }
}

template <class T>
constexpr T value_of(key_t<T> key) {
  using K = key_t<T>;
  using U = std::make_unsigned_t<K>;
  constexpr U kTop = U(U(1) << (sizeof(T) * 8 - 1));
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(key != 0);
  } else {
    const U ordered = std::is_signed_v<K> ? U(U(key) ^ kTop) : U(key);
    U bits = ordered;
    if constexpr (is_floating_v<T>) {
      bits = (ordered & kTop) != 0 ? U(ordered ^ kTop) : U(~ordered);
    } else if constexpr (std::is_signed_v<T>) {
      bits = U(ordered ^ kTop);
    }
    return std::bit_cast<T>(bits);
  }
}

}  // namespace oriel::cpu
