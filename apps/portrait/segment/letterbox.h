// A picture of any shape inside the square that a network takes, and the network's mask back out of it.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Where a picture lies in a canvas: as large as fits, in the middle.
struct Letterbox {
  index_t height = 0, width = 0;  // of the canvas
  index_t top = 0, left = 0;      // of the picture in it
  index_t inner_height = 0, inner_width = 0;
};

/// Throws Error for a canvas whose sides are not multiples of 16, and for an empty picture.
Letterbox fit_letterbox(index_t image_height, index_t image_width, index_t height, index_t width);

/// The picture, RGB, in the canvas as 3 planes from 0 to 1; around it 0, as in training.
Planes into_letterbox(const Image& image, const Letterbox& box, int threads = 0);

/// The picture's part of planes of the canvas's size.
Planes out_of_letterbox(const Planes& canvas, const Letterbox& box);

}  // namespace oriel::portrait
