// Pictures whose true mask is known, and naive references in double that share nothing with the chain.
#pragma once

#include <functional>
#include <string>

#include "apps/portrait/image/plane.h"
#include "support.h"

namespace oriel::portrait {

using test::error_of;

/// A "person": a disc of one colour with a soft rim before a background, mixed as a camera mixes them.
struct Scene {
  Image image;     // what a camera sees
  Planes alpha;    // the truth
  Image person;    // the person's colours everywhere
  Image backdrop;  // the background's
};
Scene disc_scene(index_t height, index_t width, double radius, double rim, Colour person, Colour behind);

/// The truth as a network would say it: in another size.
Planes coarse(const Planes& alpha, index_t height, index_t width);

/// Values that look random, from 0 to 1, the same for the same seed.
Planes noise(index_t count, index_t height, index_t width, unsigned seed);
Image noise_image(index_t height, index_t width, unsigned seed);

/// Means, maxima, minima over (2 radius + 1)^2 squares, by plain loops.
enum class Square { mean, most, least };
Planes naive_square(Square kind, const Planes& x, index_t radius);

double mean_difference(const Planes& a, const Planes& b);
double greatest_difference(const Planes& a, const Planes& b);
/// Mean absolute difference of bytes where `where` holds for the pixel's number.
double mean_difference(const Image& a, const Image& b, const std::function<bool(std::size_t)>& where);

}  // namespace oriel::portrait
