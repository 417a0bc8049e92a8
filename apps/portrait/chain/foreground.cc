#include "apps/portrait/chain/foreground.h"

#include <algorithm>
#include <utility>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/rows.h"

namespace oriel::portrait {
namespace {

constexpr int kSide = 4;  // planes for each of person and background: RGB times the certainty, and the certainty

// How surely a pixel shows nothing but the one: 0 up to a share of 0.9.
float certainty(float share) {
  const float t = (share - 0.9F) * 10;
  return t <= 0 ? 0 : (t >= 1 ? 1 : t);
}

Planes weighed(const Planes& colours, const Planes& alpha, int threads) {
  Planes w = Planes::unfilled(2 * kSide, colours.height, colours.width);
  for_rows(colours.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y) {
      const float* const a = alpha.row(0, y);
      float* const person = w.row(3, y);
      float* const background = w.row(kSide + 3, y);
      for (index_t x = 0; x < w.width; ++x) {
        person[x] = certainty(a[x]);
        background[x] = certainty(1 - a[x]);
      }
      for (index_t c = 0; c < 3; ++c) {
        const float* const in = colours.row(c, y);
        float* const fore = w.row(c, y);
        float* const back = w.row(kSide + c, y);
        for (index_t x = 0; x < w.width; ++x) {
          fore[x] = person[x] * in[x];
          back[x] = background[x] * in[x];
        }
      }
    }
  });
  return w;
}

// Colours of the person and the background in a size of its own, where no smaller box has answered.
struct Answers {
  Planes colours, left;  // `left` is 1 where no box has answered yet
};

// Fills what is left from the means `mean` of boxes, each of whose places stands for `step` pixels along both axes.
void answer(const Planes& mean, const Planes& own, index_t step, bool last, int threads, Answers& out) {
  constexpr float some = 0.02F;  // of a box's pixels are certain: then its mean counts
  for_rows(own.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y)
      for (index_t side = 0; side < 2; ++side) {
        const float* const weight = mean.row(side * kSide + 3, y / step);
        float* const open = out.left.row(side, y);
        if (std::find(open, open + own.width, 1.0F) == open + own.width) continue;
        for (index_t place = 0, x = 0; x < own.width; ++place) {
          const float w = weight[place];
          const index_t after = std::min(x + step, own.width);
          if (w < some && !last) x = after;
          for (; x < after; ++x) {
            if (open[x] == 0) continue;
            open[x] = 0;
            for (index_t c = 0; c < 3; ++c)
              out.colours.row(side * 3 + c, y)[x] =
                  w > 1e-6F ? mean.row(side * kSide + c, y / step)[place] / w : own.row(c, y)[x];
          }
        }
      }
  });
}

}  // namespace

Planes local_colours(const Planes& colours, const Planes& alpha, index_t radius, const Planes& where, int threads) {
  constexpr index_t coarse = 3;  // pixels that a place of larger boxes stands for: their means change slowly
  Planes weights = weighed(colours, alpha, threads);
  Answers out{Planes(6, colours.height, colours.width), Planes(2, colours.height, colours.width, 1)};
  if (where.area() > 0)
    for (index_t side = 0; side < 2; ++side)
      std::transform(where.values.begin(), where.values.end(), out.left.row(side, 0),
                     [](float value) { return value > 0 ? 1.0F : 0.0F; });
  answer(box_mean(weights, radius, threads), colours, 1, false, threads, out);
  weights = stepped(weights, coarse, threads);
  answer(box_mean(weights, radius, threads), colours, coarse, false, threads, out);
  answer(box_mean(weights, 3 * radius, threads), colours, coarse, true, threads, out);
  return std::move(out.colours);
}

}  // namespace oriel::portrait
