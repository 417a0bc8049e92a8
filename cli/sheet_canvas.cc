#include "cli/sheet_canvas.h"

#include <algorithm>
#include <cmath>

#include "io/image.h"

namespace oriel::cli {
namespace {

constexpr double kLowShare = 0.01, kHighShare = 0.995;
constexpr Colour kNan = {255, 0, 255};
constexpr int kWhite = 255;

// The bits of a number mixed (splitmix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Hue in [0, 1), saturation and value in [0, 1].
Colour of_hue(double hue, double saturation, double value) {
  Colour colour{};
  constexpr std::array<double, 3> places = {5, 3, 1};  // of red, green and blue
  for (std::size_t i = 0; i < colour.size(); ++i) {
    const double k = std::fmod(places[i] + hue * 6, 6);
    const double part = value - value * saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
    colour[i] = static_cast<std::uint8_t>(std::lround(part * kWhite));
  }
  return colour;
}

}  // namespace

GreyRange grey_range(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  GreyRange range{at(kLowShare), at(kHighShare)};
  if (range.low == range.high) range = {values.front(), values.back()};
  if (range.low == range.high) range = {range.low - 1, range.high + 1};
  return range;
}

Colour colour_of(double value, const GreyRange& range) {
  if (std::isnan(value)) return kNan;
  // Halves, as the difference of two finite values can be infinite.
  const double share = (value / 2 - range.low / 2) / (range.high / 2 - range.low / 2);
  const auto grey = static_cast<std::uint8_t>(std::lround(std::clamp(share, 0.0, 1.0) * kWhite));
  return {grey, grey, grey};
}

Colour label_colour(std::uint64_t number) {
  if (number == 0) return {0, 0, 0};
  constexpr double golden = 0.6180339887498949;  // the hues of successive numbers are far apart
  const std::uint64_t bits = mix(number);
  const double turn = static_cast<double>(number & 0xffffffffULL) * golden + static_cast<double>(bits >> 56) / 1024;
  const double saturation = 0.45 + 0.45 * static_cast<double>(bits & 0xff) / 255;
  const double value = 0.65 + 0.35 * static_cast<double>((bits >> 8) & 0xff) / 255;
  return of_hue(turn - std::floor(turn), saturation, value);
}

Canvas::Canvas(int width, int height, Colour colour)
    : width_(width), height_(height), pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3) {
  fill({0, 0, width, height}, colour);
}

void Canvas::set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  std::copy(colour.begin(), colour.end(), pixels_.begin() + (std::ptrdiff_t{y} * width_ + x) * 3);
}

void Canvas::fill(const SheetBox& box, Colour colour) {
  for (int y = box.top; y < box.top + box.height; ++y)
    for (int x = box.left; x < box.left + box.width; ++x) set(x, y, colour);
}

void Canvas::outline(const SheetBox& box, Colour colour) {
  const int right = box.left + box.width, bottom = box.top + box.height;
  fill({box.left - 1, box.top - 1, box.width + 2, 1}, colour);
  fill({box.left - 1, bottom, box.width + 2, 1}, colour);
  fill({box.left - 1, box.top, 1, box.height}, colour);
  fill({right, box.top, 1, box.height}, colour);
}

void Canvas::write(const SheetBox& box, const std::string& text, const std::string& font, Colour colour,
                   const std::string& file) {
  const io::Array mask = io::draw_text(text, font, box.width, file);
  const auto* const letters = static_cast<const std::uint8_t*>(mask.view.data);
  const auto high = static_cast<int>(mask.view.shape[0]), wide = static_cast<int>(mask.view.shape[1]);
  for (int y = 0; y < std::min(high, box.height); ++y) {
    for (int x = 0; x < std::min(wide, box.width); ++x) {
      const int to_x = box.left + x, to_y = box.top + y;
      if (to_x >= width_ || to_y >= height_) continue;
      const int share = letters[std::ptrdiff_t{y} * wide + x];
      std::uint8_t* const pixel = &pixels_[(static_cast<std::size_t>(to_y) * static_cast<std::size_t>(width_) +
                                            static_cast<std::size_t>(to_x)) *
                                           3];
      for (std::size_t i = 0; i < colour.size(); ++i)
        pixel[i] = static_cast<std::uint8_t>((pixel[i] * (kWhite - share) + colour[i] * share) / kWhite);
    }
  }
}

ConstTensor Canvas::view() const { return ConstTensor(pixels_.data(), Dtype::u8, {height_, width_, 3}); }

}  // namespace oriel::cli
