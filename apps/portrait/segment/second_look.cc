// Whether there is a person: parts of an image are judged alone, and must agree with the whole.
#include <algorithm>
#include <cmath>

#include "apps/portrait/image/resize.h"
#include "apps/portrait/segment/segmenters.h"

namespace oriel::portrait {
namespace {

// The rows and columns of x that a share of each side takes, at its begin or its end.
template <class T>
T corner(const T& x, bool bottom, bool right, index_t channels) {
  constexpr double share = 0.85;
  const auto part = [](index_t n) { return std::max<index_t>(std::lround(share * static_cast<double>(n)), 1); };
  const index_t height = part(x.height), width = part(x.width);
  const index_t top = bottom ? x.height - height : 0, left = right ? x.width - width : 0;
  T y;
  if constexpr (std::is_same_v<T, Image>)
    y = Image(height, width, channels);
  else
    y = Planes(1, height, width);
  for (index_t i = 0; i < height; ++i) {
    if constexpr (std::is_same_v<T, Image>)
      std::copy_n(x.row(top + i) + left * channels, width * channels, y.row(i));
    else
      std::copy_n(x.row(0, top + i) + left, width, y.row(0, i));
  }
  return y;
}

// Sum of the least over sum of the greatest values: 1 for equal masks, 0 for masks of different pixels.
double overlap(const Planes& a, const Planes& b) {
  double common = 0, either = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    common += static_cast<double>(std::min(a.values[i], b.values[i]));
    either += static_cast<double>(std::max(a.values[i], b.values[i]));
  }
  return either > 0 ? common / either : 1;
}

double agreement(const Segmenter& segmenter, const Image& image, const Planes& mask) {
  double sum = 0;
  for (const bool bottom : {false, true})
    for (const bool right : {false, true}) {
      const Planes expected = corner(mask, bottom, right, 1);
      const Planes found = segmenter(corner(image, bottom, right, image.channels));
      sum += overlap(resized(found, expected.height, expected.width, 1), expected);
    }
  return sum / 4;
}

}  // namespace

Seen look_twice(const NamedSegmenter& segmenter, const Image& image, const MaskOptions& options) {
  Seen seen{.mask = segmenter.run(image), .person = {}};
  seen.person = find_person(seen.mask, options);
  if (segmenter.least_agreement <= 0 || !seen.person.found) return seen;
  seen.looked_twice = true;
  seen.agreement = agreement(segmenter.run, image, seen.mask);
  if (seen.agreement >= segmenter.least_agreement) return seen;
  seen.rejected = true;
  seen.person.found = false;
  std::fill(seen.mask.values.begin(), seen.mask.values.end(), 0.0F);
  return seen;
}

}  // namespace oriel::portrait
