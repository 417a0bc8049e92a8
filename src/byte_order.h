// Numbers in files, whose bytes are in an order that may not be this machine's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace oriel::detail {

inline constexpr bool kBigEndian = std::endian::native == std::endian::big;

/// Reverses the bytes of each of `count` elements of `size` bytes.
inline void reverse_bytes(std::byte* data, std::int64_t count, std::int64_t size) {
  for (std::int64_t i = 0; size > 1 && i < count; ++i) std::reverse(data + i * size, data + (i + 1) * size);
}

/// What a little-endian file says with the bytes of `value`, and the bytes with which it says `value`.
template <class T>
T little_endian(T value) {
  if constexpr (kBigEndian) reverse_bytes(reinterpret_cast<std::byte*>(&value), 1, sizeof value);
  return value;
}

/// Where in an integer of `size` bytes its low `bytes` bytes begin.
constexpr std::size_t low_bytes(std::size_t size, std::size_t bytes) { return kBigEndian ? size - bytes : 0; }

}  // namespace oriel::detail
