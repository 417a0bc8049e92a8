#include "scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace oriel::portrait {
namespace {

void paint(Image& image, index_t pixel, Colour colour, double texture) {
  const std::uint8_t parts[] = {colour.r, colour.g, colour.b};
  for (index_t c = 0; c < 3; ++c)
    image.bytes[static_cast<std::size_t>(3 * pixel + c)] =
        static_cast<std::uint8_t>(std::clamp(parts[c] + texture, 0.0, 255.0));
}

}  // namespace

Scene disc_scene(index_t height, index_t width, double radius, double rim, Colour person, Colour behind) {
  Scene s{Image(height, width, 3), Planes(1, height, width), Image(height, width, 3), Image(height, width, 3)};
  for (index_t y = 0; y < height; ++y)
    for (index_t x = 0; x < width; ++x) {
      const index_t i = y * width + x;
      const auto at = static_cast<std::size_t>(i);
      const double away = std::hypot(static_cast<double>(y) + 0.5 - static_cast<double>(height) / 2,
                                     static_cast<double>(x) + 0.5 - static_cast<double>(width) / 2);
      const double alpha = std::clamp((radius - away) / rim + 0.5, 0.0, 1.0);
      s.alpha.values[at] = static_cast<float>(alpha);
      paint(s.person, i, person, 6 * std::sin(0.31 * static_cast<double>(x)));
      paint(s.backdrop, i, behind, 6 * std::cos(0.23 * static_cast<double>(y)));
      for (std::size_t c = 0; c < 3; ++c)
        s.image.bytes[3 * at + c] = static_cast<std::uint8_t>(
            std::lround(alpha * s.person.bytes[3 * at + c] + (1 - alpha) * s.backdrop.bytes[3 * at + c]));
    }
  return s;
}

Planes coarse(const Planes& alpha, index_t height, index_t width) {
  Planes out(1, height, width);
  for (index_t y = 0; y < height; ++y)
    for (index_t x = 0; x < width; ++x) {
      double sum = 0;
      index_t count = 0;
      for (index_t v = y * alpha.height / height; v < (y + 1) * alpha.height / height; ++v)
        for (index_t u = x * alpha.width / width; u < (x + 1) * alpha.width / width; ++u, ++count)
          sum += alpha.row(0, v)[u];
      out.row(0, y)[x] = static_cast<float>(sum / static_cast<double>(count));
    }
  return out;
}

Planes noise(index_t count, index_t height, index_t width, unsigned seed) {
  Planes out(count, height, width);
  std::uint32_t state = seed * 2654435761U + 1;
  for (float& value : out.values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 16777216.0F;
  }
  return out;
}

Image noise_image(index_t height, index_t width, unsigned seed) {
  Image out(height, width, 3);
  const Planes values = noise(3, height, width, seed);
  for (std::size_t i = 0; i < out.bytes.size(); ++i) out.bytes[i] = static_cast<std::uint8_t>(values.values[i] * 255);
  return out;
}

Planes naive_square(Square kind, const Planes& x, index_t radius) {
  Planes out(x.count, x.height, x.width);
  for (index_t c = 0; c < x.count; ++c)
    for (index_t y = 0; y < x.height; ++y)
      for (index_t i = 0; i < x.width; ++i) {
        double sum = 0, most = -1e300, least = 1e300, count = 0;
        for (index_t v = std::max<index_t>(y - radius, 0); v <= std::min(y + radius, x.height - 1); ++v)
          for (index_t u = std::max<index_t>(i - radius, 0); u <= std::min(i + radius, x.width - 1); ++u) {
            const double value = x.row(c, v)[u];
            sum += value;
            count += 1;
            most = std::max(most, value);
            least = std::min(least, value);
          }
        const double result = kind == Square::mean ? sum / count : kind == Square::most ? most : least;
        out.row(c, y)[i] = static_cast<float>(result);
      }
  return out;
}

double mean_difference(const Planes& a, const Planes& b) {
  EXPECT_EQ(a.values.size(), b.values.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += std::abs(static_cast<double>(a.values[i]) - b.values[i]);
  return sum / static_cast<double>(a.values.size());
}

double greatest_difference(const Planes& a, const Planes& b) {
  EXPECT_EQ(a.values.size(), b.values.size());
  double most = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.values[i]) - b.values[i]));
  return most;
}

double mean_difference(const Image& a, const Image& b, const std::function<bool(std::size_t)>& where) {
  EXPECT_EQ(a.bytes.size(), b.bytes.size());
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    if (!where(i / static_cast<std::size_t>(a.channels))) continue;
    sum += std::abs(a.bytes[i] - b.bytes[i]);
    count += 1;
  }
  EXPECT_GT(count, 0);
  return sum / count;
}

}  // namespace oriel::portrait
