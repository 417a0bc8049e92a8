#include "cli/samples.h"

#include <limits>

namespace oriel::cli {
namespace {

// splitmix64: one line of state, the same everywhere.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

template <class T>
T plain_value(std::uint64_t bits) {
  const auto small = static_cast<int>(bits % 33) - 16;
  if constexpr (std::is_same_v<T, bool8>)
    return bool8((bits & 1) != 0);
  else if constexpr (is_floating_v<T>)
    return static_cast<T>(small * 0.25 + (bits & 64 ? 0.1 : 0.0));
  else
    return static_cast<T>(std::is_signed_v<T> ? small : small + 16);
}

template <class T>
T special_value(std::uint64_t bits) {
  const std::uint64_t kind = bits >> 58;  // 64 kinds, most of them plain
  if constexpr (is_floating_v<T>) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (kind == 0) return static_cast<T>(std::numeric_limits<double>::quiet_NaN());
    if (kind == 1) return static_cast<T>(infinity);
    if (kind == 2) return static_cast<T>(-infinity);
    if (kind < 6) return static_cast<T>(-0.0);
    if (kind < 9) return static_cast<T>(0.0);
    if (kind == 9) return static_cast<T>(3.0e38);
    if (kind == 10) return static_cast<T>(1.0e-40);
  } else {
    if (kind == 0) return highest_value<T>();
    if (kind == 1) return lowest_value<T>();
    if constexpr (!std::is_same_v<T, bool8>)
      if (kind < 12) return static_cast<T>(bits);
  }
  return plain_value<T>(bits);
}

}  // namespace

io::Buffer make_sample(Dtype dtype, const Extents& shape, Sample sample, std::uint64_t seed) {
  io::Buffer buffer = io::allocate(dtype, shape);
  const index_t count = element_count(shape);
  std::uint64_t state = seed;
  visit(dtype, [&]<class T>() {
    auto* const values = static_cast<T*>(buffer.view.data);
    for (index_t i = 0; i < count; ++i)
      values[i] = sample == Sample::plain ? plain_value<T>(next(state)) : special_value<T>(next(state));
  });
  return buffer;
}

io::Buffer make_mask(const Extents& shape, std::uint64_t seed) {
  io::Buffer buffer = io::allocate(Dtype::u8, shape);
  auto* const values = static_cast<std::uint8_t*>(buffer.view.data);
  std::uint64_t state = seed;
  for (index_t i = 0; i < element_count(shape); ++i) {
    const std::uint64_t bits = next(state);
    values[i] = bits >> 62 == 0 ? 0 : static_cast<std::uint8_t>(1 + bits % 255);
  }
  return buffer;
}

io::Buffer make_weights(const Extents& shape, std::uint64_t seed) {
  io::Buffer buffer = io::allocate(Dtype::f32, shape);
  auto* const values = static_cast<float*>(buffer.view.data);
  std::uint64_t state = seed;
  for (index_t i = 0; i < element_count(shape); ++i) values[i] = static_cast<float>(next(state) % 9) * 0.25F;
  return buffer;
}

}  // namespace oriel::cli
