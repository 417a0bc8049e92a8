#include "apps/portrait/video/temporal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"

namespace oriel::portrait {
namespace {

// Changes of colour that are noise, as multiples of the typical one: below the first nothing moves, from the second on
// the mask is the new one. Most of a scene stands still, so the median is noise, unless the camera moves: hence a
// limit.
constexpr float kStill = 2, kMoving = 5;
constexpr float kLeastNoise = 0.001F, kMostNoise = 0.006F;
constexpr index_t kReach = 2;  // pixels of the mask around a change where it is blurred with what moved

float brightness(const Planes& colours, std::size_t i) {
  const std::size_t area = colours.values.size() / 3;  // Rec. 601
  return 0.299F * colours.values[i] + 0.587F * colours.values[area + i] + 0.114F * colours.values[2 * area + i];
}

// The greatest change of a channel, averaged over a pixel's neighbours: one pixel's noise is no motion.
Planes change_of(const Planes& before, const Planes& after) {
  Planes change(1, after.height, after.width);
  const std::size_t area = change.values.size();
  for (std::size_t i = 0; i < area; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      change.values[i] = std::max(change.values[i], std::abs(after.values[c * area + i] - before.values[c * area + i]));
  return box_mean(change, 1, 1);
}

// From 0, where changes are the sensor's noise, to 1.
Planes motion_of(const Planes& change) {
  Floats sorted = change.values;
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  const float noise = std::clamp(*middle, kLeastNoise, kMostNoise);
  Planes moved = grow(change, kReach, 1);
  for (float& value : moved.values) value = std::clamp((value / noise - kStill) / (kMoving - kStill), 0.0F, 1.0F);
  return moved;
}

}  // namespace

void check(const SmoothOptions& o) {
  if (!(o.keep >= 0 && o.keep < 1))
    throw Error(fmt::format("--smooth: {} is out of range; allowed: from 0 to below 1", o.keep));
  if (!(o.cut > 0 && o.cut <= 1))
    throw Error(fmt::format("--scene-cut: {} is out of range; allowed: above 0, at most 1", o.cut));
}

Planes motion_colours(const Image& image, index_t height, index_t width) {
  return colours_of(resized(image, height, width, 1), 1);
}

Planes Smoother::next(Planes mask, Planes colours) {
  const std::size_t area = mask.values.size();
  bool fresh = mask_.height != mask.height || mask_.width != mask.width;
  if (!fresh) {
    double sum = 0;
    for (std::size_t i = 0; i < area; ++i) sum += std::abs(brightness(colours, i) - brightness(colours_, i));
    fresh = sum / static_cast<double>(area) > options_.cut;
    cuts_ += fresh ? 1 : 0;
  }
  moved_ = fresh ? Planes(1, mask.height, mask.width, 1) : motion_of(change_of(colours_, colours));
  if (!fresh)
    for (std::size_t i = 0; i < area; ++i)
      mask.values[i] += options_.keep * (1 - moved_.values[i]) * (mask_.values[i] - mask.values[i]);
  mask_ = mask;
  colours_ = std::move(colours);
  return mask;
}

Image StillGuide::next(const Image& frame, const Planes& moved) {
  constexpr int one = 256, scale = 128;
  const bool fresh = height_ != frame.height || width_ != frame.width;
  height_ = frame.height;
  width_ = frame.width;
  mean_.resize(frame.bytes.size());
  Image guide(frame.height, frame.width, 3);
  const Enlarged motion(moved, frame.height, frame.width);
  const auto width = static_cast<std::size_t>(frame.width);
  std::vector<float> row(width);
  std::vector<std::int16_t> share(3 * width);
  for (index_t y = 0; y < frame.height; ++y) {
    motion.row(0, y, row.data());
    for (std::size_t x = 0; x < width; ++x)
      share[3 * x] = share[3 * x + 1] = share[3 * x + 2] =
          static_cast<std::int16_t>(fresh ? one : std::max(one * (1 - keep_ * (1 - row[x])) + 0.5F, 1.0F));
    const std::uint8_t* const in = frame.row(y);
    std::uint8_t* const out = guide.row(y);
    std::uint16_t* const mean = mean_.data() + static_cast<std::size_t>(y) * 3 * width;
    for (std::size_t x = 0; x < 3 * width; ++x) {
      const int before = mean[x], now = before + (((in[x] * scale - before) * share[x] + one / 2) >> 8);
      mean[x] = static_cast<std::uint16_t>(now);
      out[x] = static_cast<std::uint8_t>((now + scale / 2) / scale);
    }
  }
  return guide;
}

}  // namespace oriel::portrait
