// The pools that the chain is made of, each one call of oriel::forward.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Means over the (2 radius + 1) x (2 radius + 1) square around each value, of the values that exist there.
Planes box_mean(const Planes& x, index_t radius, int threads = 0);
/// The greatest and the least value of that square: dilation and erosion.
Planes grow(const Planes& x, index_t radius, int threads = 0);
Planes shrink(const Planes& x, index_t radius, int threads = 0);
/// Erosion, then dilation: what is thinner than 2 radius + 1 goes. Dilation, then erosion: gaps of that size close.
Planes open(const Planes& x, index_t radius, int threads = 0);
Planes close(const Planes& x, index_t radius, int threads = 0);

/// Means over squares of step x step, the last ones of what is left: ceil(height / step) rows.
Image stepped(const Image& x, index_t step, int threads = 0);
Planes stepped(const Planes& x, index_t step, int threads = 0);

/// A smaller picture, height <= x.height and width <= x.width, by means over adaptive windows; where much is lost, by
/// means over squares first.
Image smaller(const Image& x, index_t height, index_t width, int threads = 0);
Planes smaller(const Planes& x, index_t height, index_t width, int threads = 0);

}  // namespace oriel::portrait
