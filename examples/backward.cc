// Gradients of a pool: the average is linear, so its backward is its transpose; a maximum sends its gradient home.
#include <cstdio>
#include <vector>

#include "oriel/pool.h"

namespace {

void print(const char* what, const std::vector<double>& values) {
  std::printf("%s:", what);
  for (const double value : values) std::printf(" %g", value);
  std::printf("\n");
}

}  // namespace

int main() {
  // One axis of six elements, windows of three, two apart.
  const oriel::Extents in = {6};
  const oriel::Extents out = {2};
  const std::vector<double> x = {3, 1, 4, 1, 5, 9};
  const std::vector<double> dy = {30, 300};
  std::vector<double> dx(x.size());

  const oriel::Pool mean = {.op = oriel::Op::avg, .windows = {.kernel = {3}, .stride = {2}}};
  oriel::backward(mean, {.dy = {dy, out}, .dx = {dx, in}});
  print("average", dx);

  const oriel::Pool largest = {.op = oriel::Op::max, .windows = {.kernel = {3}, .stride = {2}}};
  oriel::backward(largest, {.x = {x, in}, .dy = {dy, out}, .dx = {dx, in}});
  print("maximum", dx);
  return 0;
}
