// Pools a small array: 2x2 maxima, and 3x3 averages whose border windows divide by the elements that exist.
#include <cstdio>
#include <vector>

#include "oriel/pool.h"

int main() {
  const oriel::Extents shape = {1, 1, 4, 4};     // batch, channels, height, width
  const std::vector<float> x = {1,  2,  3,  4,   //
                                5,  6,  7,  8,   //
                                9,  10, 11, 12,  //
                                13, 14, 15, 16};
  try {
    const oriel::Pool largest = {.op = oriel::Op::max, .windows = {.kernel = {2}, .axes = {2, 3}}};
    std::vector<float> y(4);
    oriel::forward(largest, {.x = {x, shape}, .y = {y, {1, 1, 2, 2}}});
    std::printf("max 2x2: %g %g %g %g\n", y[0], y[1], y[2], y[3]);

    const oriel::Pool mean = {.op = oriel::Op::avg,
                              .windows = {.kernel = {3}, .stride = {1}, .pad_lo = {1}, .axes = {2, 3}},
                              .count_include_pad = false};
    const oriel::Extents out = oriel::output_shape(mean, shape);
    std::vector<float> z(static_cast<std::size_t>(oriel::element_count(out)));
    oriel::forward(mean, {.x = {x, shape}, .y = {z, out}});
    std::printf("average 3x3, shape %s: corner %g, centre %g\n", oriel::to_string(out).c_str(), z[0], z[5]);

    oriel::output_shape({.op = oriel::Op::max, .windows = {.kernel = {2}, .stride = {0}, .axes = {2, 3}}}, shape);
  } catch (const oriel::Error& error) {
    std::printf("error: %s\n", error.what());
  }
  return 0;
}
