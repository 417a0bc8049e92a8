// Colours and drawing on a sheet.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/sheet_layout.h"
#include "cli/sheet_plane.h"
#include "oriel/tensor.h"

namespace oriel::cli {

using Colour = std::array<std::uint8_t, 3>;

/// Values that are black and white.
struct GreyRange {
  double low = 0, high = 1;
};

/// From the 1st to the 99.5th percentile of the finite values; if these are alike, from the least to the greatest.
GreyRange grey_range(std::vector<double> values);

/// Grey; NaN is magenta.
Colour colour_of(double value, const GreyRange& range);

/// The same for the same number everywhere; 0 is black, neighbouring numbers have different hues.
Colour label_colour(std::uint64_t number);

/// A picture of RGB in memory, with one colour everywhere at first. What is drawn beyond its edges is left out.
class Canvas {
 public:
  Canvas(int width, int height, Colour colour);

  void fill(const SheetBox& box, Colour colour);
  /// The outline just outside of a box.
  void outline(const SheetBox& box, Colour colour);
  void set(int x, int y, Colour colour);
  /// Text, wrapped at words, from the box's upper left corner; its rest is cut off at the lower edge.
  void write(const SheetBox& box, const std::string& text, const std::string& font, Colour colour,
             const std::string& file);
  ConstTensor view() const;

 private:
  int width_, height_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace oriel::cli
