#include "oriel/footprint.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace oriel {
namespace {

constexpr index_t kMostRadius = 4096;

void check(const char* function, const char* argument, index_t value, index_t least) {
  if (value >= least && value <= kMostRadius) return;
  throw Error(Error::Fields{function, argument,
                            "must be in " + std::to_string(least) + " to " + std::to_string(kMostRadius),
                            "is " + std::to_string(value)});
}

// The taps of a box of that shape at which `inside` is true of the distances from its middle.
template <class Inside>
Footprint centred(const Extents& shape, Inside inside) {
  Footprint footprint{.shape = shape};
  index_t count = 1;
  for (const index_t extent : shape) count *= extent;
  footprint.taps.reserve(static_cast<std::size_t>(count));
  for (index_t place = 0; place < count; ++place) {
    Extents from = shape;
    index_t rest = place;
    for (int d = shape.size() - 1; d >= 0; --d) {
      from[d] = rest % shape[d] - shape[d] / 2;
      rest /= shape[d];
    }
    footprint.taps.push_back(inside(from) ? 1 : 0);
  }
  return footprint;
}

index_t squares(const Extents& from) {
  index_t sum = 0;
  for (const index_t v : from) sum += v * v;
  return sum;
}

index_t steps(const Extents& from) {
  index_t sum = 0;
  for (const index_t v : from) sum += std::abs(v);
  return sum;
}

}  // namespace

Footprint disk(index_t radius) {
  check("disk", "radius", radius, 0);
  return centred(Extents::filled(2, 2 * radius + 1),
                 [&](const Extents& from) { return squares(from) <= radius * radius; });
}

Footprint ball(index_t radius) {
  check("ball", "radius", radius, 0);
  if (radius > 256) throw Error("ball: radius must be in 0 to 256, but is " + std::to_string(radius));
  return centred(Extents::filled(3, 2 * radius + 1),
                 [&](const Extents& from) { return squares(from) <= radius * radius; });
}

Footprint diamond(index_t radius) {
  check("diamond", "radius", radius, 0);
  return centred(Extents::filled(2, 2 * radius + 1), [&](const Extents& from) { return steps(from) <= radius; });
}

Footprint octahedron(index_t radius) {
  check("octahedron", "radius", radius, 0);
  if (radius > 256) throw Error("octahedron: radius must be in 0 to 256, but is " + std::to_string(radius));
  return centred(Extents::filled(3, 2 * radius + 1), [&](const Extents& from) { return steps(from) <= radius; });
}

Footprint octagon(index_t m, index_t n) {
  check("octagon", "m", m, 1);
  check("octagon", "n", n, 0);
  // The corners of the box, n steps deep, are cut off.
  const index_t side = m + 2 * n;
  Footprint footprint{.shape = Extents::filled(2, side)};
  for (index_t y = 0; y < side; ++y) {
    for (index_t x = 0; x < side; ++x) {
      const index_t dy = std::min(y, side - 1 - y), dx = std::min(x, side - 1 - x);
      footprint.taps.push_back(dy + dx >= n ? 1 : 0);
    }
  }
  return footprint;
}

Footprint ellipse(index_t width, index_t height) {
  check("ellipse", "width", width, 0);
  check("ellipse", "height", height, 0);
  const auto a = static_cast<double>(width), b = static_cast<double>(height);
  return centred({2 * height + 1, 2 * width + 1}, [&](const Extents& from) {
    const double y = static_cast<double>(from[0]) / (b + 1), x = static_cast<double>(from[1]) / (a + 1);
    return y * y + x * x < 1;
  });
}

Footprint line(index_t length, double degrees) {
  check("line", "length", length, 1);
  if (!std::isfinite(degrees)) throw Error("line: degrees must be finite, but is " + std::to_string(degrees));
  // Bresenham's line through the middle of a box that just holds it; the longer side has a pixel in each row or column.
  const double angle = degrees * 3.14159265358979323846 / 180;
  const double reach = static_cast<double>(length - 1) / 2;
  const double x = std::cos(angle) * reach, y = -std::sin(angle) * reach;
  const auto half = [](double v) { return static_cast<index_t>(std::llround(std::fabs(v))); };
  const index_t rows = 2 * half(y) + 1, columns = 2 * half(x) + 1;
  Footprint footprint{.shape = {rows, columns}};
  footprint.taps.assign(static_cast<std::size_t>(rows * columns), 0);
  const index_t steps = std::max(rows, columns) - 1;
  for (index_t i = 0; i <= steps; ++i) {
    const double share = steps == 0 ? 0 : static_cast<double>(2 * i - steps) / static_cast<double>(steps);
    const auto row = static_cast<index_t>(std::llround(share * static_cast<double>(rows / 2) * (y < 0 ? -1 : 1)));
    const auto column = static_cast<index_t>(std::llround(share * static_cast<double>(columns / 2) * (x < 0 ? -1 : 1)));
    footprint.taps[static_cast<std::size_t>((row + rows / 2) * columns + column + columns / 2)] = 1;
  }
  return footprint;
}

}  // namespace oriel
