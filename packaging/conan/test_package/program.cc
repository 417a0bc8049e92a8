// Pools a picture of 4x4 and ends with 1 if the result is wrong.
#include <vector>

#include "oriel/pool.h"

int main() {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<float> y(4);
  oriel::forward({.op = oriel::Op::max, .windows = {.kernel = {2}}}, {.x = {x, {4, 4}}, .y = {y, {2, 2}}});
  return y == std::vector<float>{6, 8, 14, 16} ? 0 : 1;
}
