// Pictures turned by quarters.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// The picture turned clockwise by `quarters` x 90 degrees, 0 to 3.
Image turned_clockwise(const Image& image, int quarters);

}  // namespace oriel::portrait
