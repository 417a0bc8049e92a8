// The shapes of windows that are no boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "oriel/types.h"

namespace oriel {

/// The taps that a window has (S20): one byte for each place of a box, row-major; 0: there is no tap. Empty: all
/// places. Example: Footprint{.shape = {3, 3}, .taps = {0, 1, 0, 1, 1, 1, 0, 1, 0}} is diamond(1).
struct Footprint {
  Extents shape{};  ///< of the box: the kernel, one extent for each pooled axis
  std::vector<std::uint8_t> taps{};

  bool empty() const { return taps.empty(); }
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

// The footprints that scikit-image has under these names. Radii are >= 0, lengths >= 1; Error otherwise.

/// The pixels at most `radius` from the middle of a square of 2 radius + 1.
ORIEL_API Footprint disk(index_t radius);
/// The same in a cube.
ORIEL_API Footprint ball(index_t radius);
/// The pixels at most `radius` steps from the middle, in two dimensions.
ORIEL_API Footprint diamond(index_t radius);
/// The same in three dimensions.
ORIEL_API Footprint octahedron(index_t radius);
/// An octagon whose horizontal and vertical sides have m >= 1 pixels, and whose others rise by n >= 0.
ORIEL_API Footprint octagon(index_t m, index_t n);
/// An ellipse of 2 width + 1 by 2 height + 1 pixels.
ORIEL_API Footprint ellipse(index_t width, index_t height);
/// A line of `length` pixels through the middle at `degrees` from the horizontal, counter-clockwise.
ORIEL_API Footprint line(index_t length, double degrees);

}  // namespace oriel
