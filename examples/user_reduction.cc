// A reduction of your own: the range (largest minus smallest) of every window, through the engine's own folds.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "oriel/pool.h"

struct ValueRange {
  using Input = float;
  struct Accumulator {
    float least, most;
  };
  using Output = float;

  static Accumulator identity() {
    return {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
  }
  static Accumulator lift(float x) { return {x, x}; }
  static Accumulator combine(Accumulator a, Accumulator b) {
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
  }
  static float lower(Accumulator a, oriel::WindowCount count) { return count.taps == 0 ? 0 : a.most - a.least; }
};

int main() {
  const oriel::Extents shape = {3, 8};
  const std::vector<float> x = {1, 4, 2, 8, 5,  7, 3, 6,  //
                                0, 9, 9, 9, 9,  9, 9, 9,  //
                                2, 2, 2, 2, -2, 2, 2, 2};
  const oriel::Windows windows = {.kernel = {3}, .stride = {1, 2}, .pad_lo = {1}};
  const oriel::Extents out = oriel::output_shape({.windows = windows}, shape);
  std::vector<float> y(static_cast<std::size_t>(oriel::element_count(out)));
  oriel::forward<ValueRange>(windows, {.x = {x, shape}, .y = {y, out}});
  std::printf("range of 3x3 windows, shape %s:\n", oriel::to_string(out).c_str());
  for (oriel::index_t h = 0; h < out[0]; ++h) {
    for (oriel::index_t w = 0; w < out[1]; ++w) std::printf("%4g", y[static_cast<std::size_t>(h * out[1] + w)]);
    std::printf("\n");
  }
  try {
    const std::vector<double> wrong(24);
    oriel::forward<ValueRange>(windows, {.x = {wrong, shape}, .y = {y, out}});
  } catch (const oriel::Error& error) {
    std::printf("error: %s\n", error.what());
  }
  return 0;
}
