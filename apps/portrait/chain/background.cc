#include "apps/portrait/chain/background.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "apps/portrait/chain/spill.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/image/rows.h"
#include "quoted.h"

namespace oriel::portrait {
namespace {

constexpr double kMostRadius = 1000;

std::optional<Colour> colour_of(std::string_view text) {
  constexpr std::pair<std::string_view, Colour> named[] = {{"white", {255, 255, 255}}, {"black", {0, 0, 0}},
                                                           {"grey", {128, 128, 128}},  {"red", {255, 0, 0}},
                                                           {"green", {0, 128, 0}},     {"blue", {0, 0, 255}}};
  for (const auto& [name, colour] : named)
    if (name == text) return colour;
  if ((text.size() != 4 && text.size() != 7) || text[0] != '#') return std::nullopt;
  std::uint8_t parts[3];
  const std::size_t digits = text.size() / 3;
  for (std::size_t i = 0; i < 3; ++i) {
    const char* const begin = text.data() + 1 + i * digits;
    const auto [at, error] = std::from_chars(begin, begin + digits, parts[i], 16);
    if (error != std::errc() || at != begin + digits) return std::nullopt;
    if (digits == 1) parts[i] = static_cast<std::uint8_t>(parts[i] * 17);
  }
  return Colour{parts[0], parts[1], parts[2]};
}

double number(const std::string& option, const std::string& text, std::string_view part, std::string_view what,
              double least, double most) {
  double value = 0;
  const char* const end = part.data() + part.size();
  const auto [at, error] = std::from_chars(part.data(), end, value);
  if (error != std::errc() || at != end || !(value >= least && value <= most))
    throw Error(fmt::format("{}: the {} of {} is not understood; allowed: a number from {} to {}", option, what,
                            detail::quoted(text), least, most));
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

Background parse_gradient(const std::string& option, const std::string& text, const std::string& values) {
  const std::vector<std::string> parts = split(values);
  if (parts.size() < 2 || parts.size() > 3)
    throw Error(
        fmt::format("{}: {} is not a gradient; allowed: gradient:COLOUR,COLOUR or gradient:COLOUR,COLOUR,DEGREES",
                    option, detail::quoted(text)));
  Background b{.kind = Background::Kind::gradient,
               .first = parse_colour(option, parts[0]),
               .second = parse_colour(option, parts[1])};
  if (parts.size() == 3) b.angle = number(option, text, parts[2], "angle", -360, 360);
  return b;
}

void fill(Image& image, Colour colour) {
  for (std::size_t i = 0; i < image.bytes.size(); i += 3) {
    image.bytes[i] = colour.r;
    image.bytes[i + 1] = colour.g;
    image.bytes[i + 2] = colour.b;
  }
}

void gradient(const Background& b, Image& out, int threads) {
  const double turn = b.angle * 3.14159265358979323846 / 180;
  const double dx = std::sin(turn), dy = -std::cos(turn);
  const auto width = static_cast<double>(out.width), height = static_cast<double>(out.height);
  const double length = std::max(std::abs(width * dx) + std::abs(height * dy), 1e-9);
  const auto mix = [](std::uint8_t from, std::uint8_t to, double t) {
    return static_cast<std::uint8_t>(std::lround(from + t * (to - from)));
  };
  for_rows(out.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y)
      for (index_t x = 0; x < out.width; ++x) {
        const double along =
            (static_cast<double>(x) + 0.5 - width / 2) * dx + (static_cast<double>(y) + 0.5 - height / 2) * dy;
        const double t = std::clamp(along / length + 0.5, 0.0, 1.0);
        std::uint8_t* const p = out.row(y) + 3 * x;
        p[0] = mix(b.first.r, b.second.r, t);
        p[1] = mix(b.first.g, b.second.g, t);
        p[2] = mix(b.first.b, b.second.b, t);
      }
  });
}

Image part_of(const Image& image, index_t top, index_t left, index_t height, index_t width) {
  Image part(height, width, image.channels);
  for (index_t y = 0; y < height; ++y) {
    const std::uint8_t* const in = image.row(top + y) + left * image.channels;
    std::copy(in, in + width * image.channels, part.row(y));
  }
  return part;
}

// The largest part of `image`, or of (height, width), that has the other's proportions.
std::pair<index_t, index_t> largest_inside(index_t height, index_t width, index_t like_height, index_t like_width) {
  const auto ratio = static_cast<double>(like_width) / static_cast<double>(like_height);
  const auto wide = static_cast<index_t>(std::lround(static_cast<double>(height) * ratio));
  const auto high = static_cast<index_t>(std::lround(static_cast<double>(width) / ratio));
  return {std::clamp<index_t>(high, 1, height), std::clamp<index_t>(wide, 1, width)};
}

Image cover(const Image& picture, index_t height, index_t width, int threads) {
  const auto [h, w] = largest_inside(picture.height, picture.width, height, width);
  return resized(part_of(picture, (picture.height - h) / 2, (picture.width - w) / 2, h, w), height, width, threads);
}

void contain(const Background& b, Image& out, int threads) {
  fill(out, b.first);
  const auto [h, w] = largest_inside(out.height, out.width, b.picture->height, b.picture->width);
  const Image inner = resized(*b.picture, h, w, threads);
  const index_t top = (out.height - h) / 2, left = (out.width - w) / 2;
  for (index_t y = 0; y < h; ++y) std::copy(inner.row(y), inner.row(y) + 3 * w, out.row(top + y) + 3 * left);
}

// The old background alone: what it sends around, by how much of it there was.
Image blur(double radius, const Image& image, const Planes& alpha, int threads) {
  Spill around = spill(image, alpha, radius, threads);
  const auto area = static_cast<std::size_t>(around.means.area());
  Floats& values = around.means.values;
  for (std::size_t i = 0; i < area; ++i)
    for (std::size_t c = 0; c < 3; ++c) values[c * area + i] /= values[3 * area + i];
  Image out(image.height, image.width, 3);
  const Enlarged rows(around.means, image.height, image.width, around.step);
  for_rows(image.height, threads, [&](index_t begin, index_t end) {
    std::vector<float> row(static_cast<std::size_t>(image.width));
    for (index_t y = begin; y < end; ++y)
      for (index_t c = 0; c < 3; ++c) {
        rows.row(c, y, row.data());
        for (index_t x = 0; x < image.width; ++x) out.row(y)[3 * x + c] = to_byte(row[static_cast<std::size_t>(x)]);
      }
  });
  return out;
}

}  // namespace

Colour parse_colour(const std::string& option, const std::string& text) {
  if (const auto colour = colour_of(text)) return *colour;
  throw Error(fmt::format("{}: {} is not a colour; allowed: #rgb, #rrggbb, white, black, grey, red, green, blue",
                          option, detail::quoted(text)));
}

Background parse_background(const std::string& option, const std::string& text) {
  using Kind = Background::Kind;
  if (text == "transparent") return {.kind = Kind::transparent};
  if (text == "blur") return {.kind = Kind::blur};
  if (text.starts_with("blur:"))
    return {.kind = Kind::blur,
            .radius = number(option, text, std::string_view(text).substr(5), "radius", 1, kMostRadius)};
  if (text.starts_with("gradient:")) return parse_gradient(option, text, text.substr(9));
  if (text.starts_with('#')) return {.kind = Kind::colour, .first = parse_colour(option, text)};
  if (const auto colour = colour_of(text)) return {.kind = Kind::colour, .first = *colour};
  return {.kind = Kind::picture};
}

Image render(const Background& b, const Image& image, const Planes& alpha, int threads) {
  using Kind = Background::Kind;
  if (b.kind == Kind::blur) return blur(b.radius, image, alpha, threads);
  if (b.kind == Kind::picture && b.fit == Background::Fit::cover)
    return cover(*b.picture, image.height, image.width, threads);
  Image out(image.height, image.width, 3);
  if (b.kind == Kind::picture)
    contain(b, out, threads);
  else if (b.kind == Kind::gradient)
    gradient(b, out, threads);
  else
    fill(out, b.first);
  return out;
}

}  // namespace oriel::portrait
