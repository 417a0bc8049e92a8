// What the chain works on: planes of float and pictures of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "oriel/tensor.h"

namespace oriel::portrait {

/// Makes a std::vector whose elements have no value until one is set, if none is given: `Floats v(n)` fills nothing.
template <class T>
struct UnfilledAllocator : std::allocator<T> {
  template <class Other>
  struct rebind {
    using other = UnfilledAllocator<Other>;
  };
  template <class Element, class... Arguments>
  void construct(Element* at, Arguments&&... arguments) {
    if constexpr (sizeof...(arguments) == 0)
      ::new (static_cast<void*>(at)) Element;
    else
      ::new (static_cast<void*>(at)) Element(std::forward<Arguments>(arguments)...);
  }
};
using Floats = std::vector<float, UnfilledAllocator<float>>;

/// Planes of float in C order, count x height x width: a mask has one, with values from 0 to 1; colours have three.
struct Planes {
  index_t count = 0, height = 0, width = 0;
  Floats values;

  Planes() = default;
  Planes(index_t planes, index_t rows, index_t columns, float value = 0)
      : count(planes), height(rows), width(columns), values(static_cast<std::size_t>(planes * rows * columns), value) {}

  /// All of whose values are written before they are read.
  static Planes unfilled(index_t planes, index_t rows, index_t columns) {
    Planes p;
    p.count = planes;
    p.height = rows;
    p.width = columns;
    p.values = Floats(static_cast<std::size_t>(planes * rows * columns));
    return p;
  }

  float* row(index_t plane, index_t y) { return values.data() + (plane * height + y) * width; }
  const float* row(index_t plane, index_t y) const { return values.data() + (plane * height + y) * width; }
  index_t area() const { return height * width; }
  Tensor view() { return {values.data(), {count, height, width}}; }
  ConstTensor view() const { return {values.data(), {count, height, width}}; }
};

/// A picture of bytes in C order, height x width x channels: 1 grey (a mask), 3 RGB, 4 RGB with alpha (not multiplied).
struct Image {
  index_t height = 0, width = 0, channels = 3;
  std::vector<std::uint8_t> bytes;

  Image() = default;
  Image(index_t rows, index_t columns, index_t samples)
      : height(rows), width(columns), channels(samples), bytes(static_cast<std::size_t>(rows * columns * samples)) {}

  std::uint8_t* row(index_t y) { return bytes.data() + y * width * channels; }
  const std::uint8_t* row(index_t y) const { return bytes.data() + y * width * channels; }
  index_t area() const { return height * width; }
  Tensor view() { return {bytes.data(), {height, width, channels}}; }
  ConstTensor view() const { return {bytes.data(), {height, width, channels}}; }
};

/// One colour, sRGB.
struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

/// A number from 0 to 1 as a byte, rounded; others are clamped.
inline std::uint8_t to_byte(float value) {
  const float scaled = value * 255.0F + 0.5F;
  return static_cast<std::uint8_t>(scaled >= 255.0F ? 255.0F : (scaled > 0.0F ? scaled : 0.0F));
}

}  // namespace oriel::portrait
