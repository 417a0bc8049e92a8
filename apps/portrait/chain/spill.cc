#include "apps/portrait/chain/spill.h"

#include <algorithm>
#include <cmath>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"

namespace oriel::portrait {

Spill spill(const Image& background, const Planes& alpha, double radius, int threads) {
  constexpr double small_radius = 6;  // boxes are small in the reduced picture
  constexpr float trace = 1e-3F;
  const auto step = std::max<index_t>(static_cast<index_t>(radius / small_radius), 1);
  const Image least = stepped(background, step, threads);
  const Planes share = stepped(alpha, step, threads);
  const Planes colours = colours_of(least, threads);
  Planes weighed(4, least.height, least.width);
  const auto area = static_cast<std::size_t>(least.area());
  for (std::size_t i = 0; i < area; ++i) {
    const float weight = 1 - share.values[i] + trace;
    for (std::size_t c = 0; c < 3; ++c) weighed.values[c * area + i] = weight * colours.values[c * area + i];
    weighed.values[3 * area + i] = weight;
  }
  const auto box = static_cast<index_t>(std::lround(radius / static_cast<double>(step)));
  for (int pass = 0; pass < 3; ++pass) weighed = box_mean(weighed, box, threads);
  return {std::move(weighed), step};
}

}  // namespace oriel::portrait
