#include "apps/portrait/chain/foreground.h"

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
  Planes w(2 * kSide, colours.height, colours.width);
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

}  // namespace

Planes local_colours(const Planes& colours, const Planes& alpha, index_t radius, int threads) {
  constexpr float some = 0.02F;  // of a box's pixels are certain: then its mean counts
  constexpr int levels = 3;
  const Planes weights = weighed(colours, alpha, threads);
  Planes out(6, colours.height, colours.width);
  Planes left(2, colours.height, colours.width, 1);  // 1 where no level has answered yet
  for (int level = 0; level < levels; ++level, radius *= 3) {
    const Planes mean = box_mean(weights, radius, threads);
    const bool last = level + 1 == levels;
    for_rows(out.height, threads, [&](index_t begin, index_t end) {
      for (index_t y = begin; y < end; ++y)
        for (index_t side = 0; side < 2; ++side) {
          const float* const weight = mean.row(side * kSide + 3, y);
          float* const open = left.row(side, y);
          for (index_t x = 0; x < out.width; ++x) {
            if (open[x] == 0 || (weight[x] < some && !last)) continue;
            open[x] = 0;
            for (index_t c = 0; c < 3; ++c)
              out.row(side * 3 + c, y)[x] =
                  weight[x] > 1e-6F ? mean.row(side * kSide + c, y)[x] / weight[x] : colours.row(c, y)[x];
          }
        }
    });
  }
  return out;
}

}  // namespace oriel::portrait
