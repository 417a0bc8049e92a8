#include "apps/portrait/chain/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "apps/portrait/chain/foreground.h"
#include "apps/portrait/chain/spill.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/image/rows.h"

namespace oriel::portrait {
namespace {

float to_light(float v) { return v <= 0.04045F ? v / 12.92F : std::pow((v + 0.055F) / 1.055F, 2.4F); }
float from_light(float v) { return v <= 0.0031308F ? v * 12.92F : 1.055F * std::pow(v, 1 / 2.4F) - 0.055F; }

// The person's own colour in mixed pixels.
class PersonColours {
 public:
  PersonColours(const Image& image, const Cut& cut)
      : image_(image), shares_(cut.shares.area() > 0 ? cut.shares : cut.alpha) {
    if (cut.colours.area() > 0) local_.emplace(cut.colours, image.height, image.width, cut.step);
  }

  std::array<float, 3> at(index_t y, index_t x) const {
    const float share = shares_.row(0, y)[x];
    const std::uint8_t* const p = image_.row(y) + 3 * x;
    std::array<float, 3> colour;
    for (index_t c = 0; c < 3; ++c) {
      const float value = static_cast<float>(p[c]) / 255;
      colour[static_cast<std::size_t>(c)] =
          local_ ? unmixed(value, share, local_->value(c, y, x), local_->value(c + 3, y, x)) : value;
    }
    return colour;
  }

 private:
  const Image& image_;
  const Planes& shares_;
  std::optional<Enlarged> local_;
};

// What the new background adds to the person's colours.
class WrappedLight {
 public:
  WrappedLight(const Image& background, const Planes& alpha, double share, int threads)
      : share_(static_cast<float>(share)) {
    if (share <= 0) return;
    constexpr double reach = 60;  // of the shorter side
    const double radius = std::max(static_cast<double>(std::min(background.height, background.width)) / reach, 1.0);
    spill_ = spill(background, alpha, radius, threads);
    light_.emplace(spill_.means, background.height, background.width, spill_.step);
  }
  WrappedLight(const WrappedLight&) = delete;
  WrappedLight& operator=(const WrappedLight&) = delete;

  bool any() const { return light_.has_value(); }
  float on(float colour, std::size_t channel, index_t y, index_t x) const {
    if (!light_) return colour;
    return 1 - (1 - colour) * (1 - share_ * light_->value(static_cast<index_t>(channel), y, x));
  }

 private:
  float share_;
  Spill spill_;
  std::optional<Enlarged> light_;
};

void check_sizes(const Image& image, const Planes& alpha, const Image& other) {
  if (image.channels != 3 || alpha.height != image.height || alpha.width != image.width ||
      other.height != image.height || other.width != image.width)
    throw Error(fmt::format("compose: the image is {}x{}x{}, its alpha {}x{}, the background {}x{}; allowed: one size",
                            image.height, image.width, image.channels, alpha.height, alpha.width, other.height,
                            other.width));
}

}  // namespace

Image mask_of(const Cut& cut, int threads) {
  Image out(cut.alpha.height, cut.alpha.width, 1);
  for_rows(out.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y)
      for (index_t x = 0; x < out.width; ++x) out.row(y)[x] = to_byte(cut.alpha.row(0, y)[x]);
  });
  return out;
}

Image transparent(const Image& image, const Cut& cut, int threads) {
  check_sizes(image, cut.alpha, image);
  Image out(image.height, image.width, 4);
  const PersonColours colours(image, cut);
  for_rows(image.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y) {
      const float* const alpha = cut.alpha.row(0, y);
      const std::uint8_t* in = image.row(y);
      std::uint8_t* to = out.row(y);
      for (index_t x = 0; x < image.width; ++x, in += 3, to += 4) {
        to[3] = to_byte(alpha[x]);
        if (to[3] == 0) continue;
        if (to[3] == 255) {
          std::copy(in, in + 3, to);
          continue;
        }
        const std::array<float, 3> colour = colours.at(y, x);
        for (std::size_t c = 0; c < 3; ++c) to[c] = to_byte(colour[c]);
      }
    }
  });
  return out;
}

void check(const Blend& blend) {
  if (!(blend.light_wrap >= 0 && blend.light_wrap <= 1))
    throw Error(fmt::format("--light-wrap: {} is out of range; allowed: from 0 to 1", blend.light_wrap));
}

Image compose(const Image& image, const Cut& cut, const Image& background, const Blend& blend, int threads) {
  check_sizes(image, cut.alpha, background);
  check(blend);
  Image out(image.height, image.width, 3);
  const PersonColours colours(image, cut);
  const WrappedLight light(background, cut.alpha, blend.light_wrap, threads);
  const auto mix = [&blend](float person, float behind, float alpha) {
    if (!blend.linear_light) return behind + alpha * (person - behind);
    const float from = to_light(behind);
    return from_light(from + alpha * (to_light(person) - from));
  };
  for_rows(image.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y) {
      const float* const alpha = cut.alpha.row(0, y);
      const std::uint8_t* in = image.row(y);
      const std::uint8_t* behind = background.row(y);
      std::uint8_t* to = out.row(y);
      for (index_t x = 0; x < image.width; ++x, in += 3, behind += 3, to += 3) {
        if (alpha[x] <= 0 || (alpha[x] >= 1 && !light.any())) {
          std::copy_n(alpha[x] <= 0 ? behind : in, 3, to);
          continue;
        }
        const std::array<float, 3> colour = colours.at(y, x);
        for (std::size_t c = 0; c < 3; ++c)
          to[c] = to_byte(mix(light.on(colour[c], c, y, x), static_cast<float>(behind[c]) / 255, alpha[x]));
      }
    }
  });
  return out;
}

}  // namespace oriel::portrait
