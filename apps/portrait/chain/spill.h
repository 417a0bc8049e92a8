// What a background sends to the pixels around each of its own.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Four planes of ceil(height / step) rows: the means, over three boxes one after the other, of red, green and blue
/// times the share of a pixel that is background, and of that share. Each value is for step x step pixels.
struct Spill {
  Planes means;
  index_t step = 1;
};

/// That of a background (RGB) in which the person covers `alpha` (1 plane of its size); `radius` is that of each box in
/// pixels. Where the person hides everything in reach, a thousandth of what is under it counts.
Spill spill(const Image& background, const Planes& alpha, double radius, int threads = 0);

}  // namespace oriel::portrait
