#include "apps/portrait/pooling.h"

#include <algorithm>

#include "oriel/pool.h"

namespace oriel::portrait {
namespace {

Planes around(Op op, const Planes& x, index_t radius, int threads) {
  if (radius <= 0 || x.area() == 0) return x;
  // Beyond the farthest value a window only gets longer to fold.
  const index_t high = std::min(radius, x.height - 1), wide = std::min(radius, x.width - 1);
  Planes y(x.count, x.height, x.width);
  forward({.op = op,
           .kernel = {2 * high + 1, 2 * wide + 1},
           .stride = {1},
           .pad_lo = {high, wide},
           .axes = {1, 2},
           .count_include_pad = op != Op::avg},
          x.view(), y.view(), {.threads = threads});
  return y;
}

Pool adaptive(index_t height, index_t width, const Extents& axes) {
  return {.op = Op::avg, .kind = WindowKind::adaptive, .output_size = {height, width}, .axes = axes};
}

}  // namespace

Planes box_mean(const Planes& x, index_t radius, int threads) { return around(Op::avg, x, radius, threads); }
Planes grow(const Planes& x, index_t radius, int threads) { return around(Op::max, x, radius, threads); }
Planes shrink(const Planes& x, index_t radius, int threads) { return around(Op::min, x, radius, threads); }

Planes open(const Planes& x, index_t radius, int threads) {
  return radius > 0 ? grow(shrink(x, radius, threads), radius, threads) : x;
}

Planes close(const Planes& x, index_t radius, int threads) {
  return radius > 0 ? shrink(grow(x, radius, threads), radius, threads) : x;
}

Image smaller(const Image& x, index_t height, index_t width, int threads) {
  if (height == x.height && width == x.width) return x;
  Image y(height, width, x.channels);
  forward(adaptive(height, width, {0, 1}), x.view(), y.view(), {.threads = threads});
  return y;
}

Planes smaller(const Planes& x, index_t height, index_t width, int threads) {
  if (height == x.height && width == x.width) return x;
  Planes y(x.count, height, width);
  forward(adaptive(height, width, {1, 2}), x.view(), y.view(), {.threads = threads});
  return y;
}

}  // namespace oriel::portrait
