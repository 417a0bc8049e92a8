#include "apps/portrait/image/turn.h"

#include <algorithm>

namespace oriel::portrait {

Image turned_clockwise(const Image& image, int quarters) {
  if (quarters == 0) return image;
  const bool lies = quarters % 2 != 0;
  Image out(lies ? image.width : image.height, lies ? image.height : image.width, image.channels);
  const index_t last_row = image.height - 1, last_column = image.width - 1;
  for (index_t y = 0; y < out.height; ++y)
    for (index_t x = 0; x < out.width; ++x) {
      const index_t from_y = quarters == 1 ? last_row - x : quarters == 2 ? last_row - y : x;
      const index_t from_x = quarters == 1 ? y : quarters == 2 ? last_column - x : last_column - y;
      const std::uint8_t* const from = image.row(from_y) + from_x * image.channels;
      std::copy(from, from + image.channels, out.row(y) + x * image.channels);
    }
  return out;
}

}  // namespace oriel::portrait
