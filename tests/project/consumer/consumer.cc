#include <cstdio>
#include <vector>

#include "oriel/pool.h"

int main() {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<float> y(4);
  oriel::forward({.op = oriel::Op::max, .windows = {.kernel = {2}, .axes = {2, 3}}},
                 {.x = {x, {1, 1, 4, 4}}, .y = {y, {1, 1, 2, 2}}});
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
