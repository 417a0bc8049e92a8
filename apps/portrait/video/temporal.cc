#include "apps/portrait/video/temporal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"

namespace oriel::portrait {

void check(const SmoothOptions& o) {
  if (!(o.keep >= 0 && o.keep < 1))
    throw Error(fmt::format("--smooth: {} is out of range; allowed: from 0 to below 1", o.keep));
  if (!(o.still >= 0 && o.moving > o.still && o.moving <= 1))
    throw Error(fmt::format("--motion: {} to {} is no range; allowed: 0 <= still < moving <= 1", o.still, o.moving));
  if (!(o.cut > 0 && o.cut <= 1))
    throw Error(fmt::format("--scene-cut: {} is out of range; allowed: above 0, at most 1", o.cut));
}

Planes brightness(const Image& image, index_t height, index_t width) {
  const Planes colours = colours_of(resized(image, height, width, 1), 1);
  Planes light(1, height, width);
  const std::size_t area = light.values.size();
  for (std::size_t i = 0; i < area; ++i)
    light.values[i] = 0.299F * colours.values[i] + 0.587F * colours.values[area + i] +
                      0.114F * colours.values[2 * area + i];  // Rec. 601
  return light;
}

Planes Smoother::next(Planes mask, Planes light) {
  const std::size_t area = mask.values.size();
  const bool fresh = mask_.height != mask.height || mask_.width != mask.width;
  if (!fresh) {
    Planes change(1, mask.height, mask.width);
    double sum = 0;
    for (std::size_t i = 0; i < area; ++i) {
      change.values[i] = std::abs(light.values[i] - light_.values[i]);
      sum += change.values[i];
    }
    if (sum / static_cast<double>(area) > options_.cut) {
      ++cuts_;
    } else {
      change = box_mean(change, 1, 1);  // one pixel's noise is no motion
      for (std::size_t i = 0; i < area; ++i) {
        const float moved =
            std::clamp((change.values[i] - options_.still) / (options_.moving - options_.still), 0.0F, 1.0F);
        mask.values[i] += options_.keep * (1 - moved) * (mask_.values[i] - mask.values[i]);
      }
    }
  }
  mask_ = mask;
  light_ = std::move(light);
  return mask;
}

}  // namespace oriel::portrait
