#include "apps/portrait/image/pooling.h"

#include <algorithm>

#include "oriel/pool.h"
#include "oriel/window.h"

namespace oriel::portrait {
namespace {

Planes around(Op op, const Planes& x, index_t radius, int threads) {
  if (radius <= 0 || x.area() == 0) return x;
  // Beyond the farthest value a window only gets longer to fold.
  const index_t high = std::min(radius, x.height - 1), wide = std::min(radius, x.width - 1);
  Planes y = Planes::unfilled(x.count, x.height, x.width);
  forward({.op = op,
           .windows = {.kernel = {2 * high + 1, 2 * wide + 1}, .stride = {1}, .pad_lo = {high, wide}, .axes = {1, 2}},
           .count_include_pad = op != Op::avg},
          {.x = x.view(), .y = y.view()}, {.threads = threads});
  return y;
}

Pool adaptive(index_t height, index_t width, const Extents& axes) {
  return {.op = Op::avg, .windows = {.kind = WindowKind::adaptive, .output_size = {height, width}, .axes = axes}};
}

// Squares that begin on the picture; the last ones hang over its end, where nothing exists.
Pool squares(index_t step, index_t height, index_t width, const Extents& axes) {
  return {.op = Op::avg,
          .windows = {.kernel = {std::min(step, height), std::min(step, width)},
                      .stride = {step},
                      .axes = axes,
                      .ceil_mode = true}};
}

// Windows of one size are folded much faster than adaptive ones that overlap: where a side shrinks to a quarter or less
// the first half of that is done by squares.
index_t first_step(index_t from_height, index_t from_width, index_t height, index_t width) {
  const index_t ratio = std::min(from_height / height, from_width / width);
  const bool whole = from_height % height == 0 && from_width % width == 0;
  return whole || ratio < 4 ? 1 : ratio / 2;
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

Image stepped(const Image& x, index_t step, int threads) {
  if (step <= 1) return x;
  Image y(ceil_div(x.height, step), ceil_div(x.width, step), x.channels);
  forward(squares(step, x.height, x.width, {0, 1}), {.x = x.view(), .y = y.view()}, {.threads = threads});
  return y;
}

Planes stepped(const Planes& x, index_t step, int threads) {
  if (step <= 1) return x;
  Planes y = Planes::unfilled(x.count, ceil_div(x.height, step), ceil_div(x.width, step));
  forward(squares(step, x.height, x.width, {1, 2}), {.x = x.view(), .y = y.view()}, {.threads = threads});
  return y;
}

Image smaller(const Image& x, index_t height, index_t width, int threads) {
  if (height == x.height && width == x.width) return x;
  if (const index_t step = first_step(x.height, x.width, height, width); step > 1)
    return smaller(stepped(x, step, threads), height, width, threads);
  Image y(height, width, x.channels);
  forward(adaptive(height, width, {0, 1}), {.x = x.view(), .y = y.view()}, {.threads = threads});
  return y;
}

Planes smaller(const Planes& x, index_t height, index_t width, int threads) {
  if (height == x.height && width == x.width) return x;
  if (const index_t step = first_step(x.height, x.width, height, width); step > 1)
    return smaller(stepped(x, step, threads), height, width, threads);
  Planes y = Planes::unfilled(x.count, height, width);
  forward(adaptive(height, width, {1, 2}), {.x = x.view(), .y = y.view()}, {.threads = threads});
  return y;
}

}  // namespace oriel::portrait
