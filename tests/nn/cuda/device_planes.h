// Tensors [channels][height][width] on the emulated device, with the pitches and the place that a test wants.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "cuda/emulator/grid.h"
#include "nn/cuda/layers.h"

namespace oriel::nn::cuda {

struct PlaneShape {
  int channels = 1, height = 1, width = 1;
  int row_gap = 0, plane_gap = 0;  // elements between rows, and between channels
  int offset = 0;                  // elements before the first one

  index_t row() const { return width + row_gap; }
  index_t plane() const { return height * row() + plane_gap; }
  std::size_t memory() const { return static_cast<std::size_t>(offset + channels * plane()); }
};

inline std::vector<float> random_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> out(count);
  for (float& v : out) v = values(random);
  return out;
}

class DevicePlanes {
 public:
  /// Filled with `values`, dense; or unwritten.
  DevicePlanes(const PlaneShape& shape, const char* name, const std::vector<float>* values = nullptr)
      : shape_(shape), memory_(static_cast<float*>(grid::allocate(shape.memory() * sizeof(float), name))) {
    if (values == nullptr) return;
    std::size_t at = 0;
    for (int c = 0; c < shape.channels; ++c)
      for (int y = 0; y < shape.height; ++y)
        for (int x = 0; x < shape.width; ++x) {
          float* const place = view().data + c * shape.plane() + y * shape.row() + x;
          *place = (*values)[at++];
          grid::mark_written(place, sizeof(float));
        }
    grid::protect(memory_);
  }
  ~DevicePlanes() { grid::release(memory_); }
  DevicePlanes(const DevicePlanes&) = delete;
  DevicePlanes& operator=(const DevicePlanes&) = delete;

  Planes view() const { return {memory_ + shape_.offset, shape_.plane(), shape_.row()}; }

  /// Dense. Every element must have been written, and nothing between them.
  std::vector<float> values() const {
    std::vector<float> out;
    std::size_t written = 0;
    for (std::size_t i = 0; i < shape_.memory(); ++i) written += grid::all_written(memory_ + i, sizeof(float)) ? 1 : 0;
    for (int c = 0; c < shape_.channels; ++c)
      for (int y = 0; y < shape_.height; ++y)
        for (int x = 0; x < shape_.width; ++x) {
          const float* const place = view().data + c * shape_.plane() + y * shape_.row() + x;
          EXPECT_TRUE(grid::all_written(place, sizeof(float))) << c << "," << y << "," << x << " was not stored";
          out.push_back(*place);
        }
    EXPECT_EQ(written, out.size()) << "something between the rows was stored";
    return out;
  }

 private:
  PlaneShape shape_;
  float* memory_;
};

/// Dense values of a kernel's weights, which begin at a multiple of 16 bytes.
class DeviceValues {
 public:
  DeviceValues(const std::vector<float>& values, const char* name)
      : memory_(static_cast<float*>(grid::allocate(values.size() * sizeof(float), name))) {
    std::memcpy(memory_, values.data(), values.size() * sizeof(float));
    grid::mark_written(memory_, values.size() * sizeof(float));
    grid::protect(memory_);
  }
  ~DeviceValues() { grid::release(memory_); }
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;
  const float* data() const { return memory_; }

 private:
  float* memory_;
};

/// body() in every schedule; nothing that the emulator finds is allowed.
template <class Body>
void in_every_order(const Body& body) {
  unsigned char poison = 0xdb;
  for (const grid::Order order : {grid::Order::forward, grid::Order::reverse, grid::Order::random}) {
    grid::options() = {.order = order, .seed = 3, .poison = poison};
    poison = static_cast<unsigned char>(~poison);
    grid::reset();
    body();
    const grid::Report& r = grid::report();
    ASSERT_TRUE(r.failures.empty()) << r.failures[0];
    ASSERT_EQ(r.rewritten, 0U);
  }
}

inline void expect_same_bits(const std::vector<float>& own, const std::vector<float>& wanted) {
  ASSERT_EQ(own.size(), wanted.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    if (std::memcmp(&own[i], &wanted[i], sizeof(float)) != 0)
      FAIL() << "element " << i << " is " << own[i] << " instead of " << wanted[i];
}

}  // namespace oriel::nn::cuda
