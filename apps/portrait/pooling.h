// The pools that the chain is made of, each one call of oriel::forward.
#pragma once

#include "apps/portrait/plane.h"

namespace oriel::portrait {

/// Means over the (2 radius + 1) x (2 radius + 1) square around each value, of the values that exist there.
Planes box_mean(const Planes& x, index_t radius, int threads = 0);
/// The greatest and the least value of that square: dilation and erosion.
Planes grow(const Planes& x, index_t radius, int threads = 0);
Planes shrink(const Planes& x, index_t radius, int threads = 0);
/// Erosion, then dilation: what is thinner than 2 radius + 1 goes. Dilation, then erosion: gaps of that size close.
Planes open(const Planes& x, index_t radius, int threads = 0);
Planes close(const Planes& x, index_t radius, int threads = 0);

/// A smaller picture of bytes by means over adaptive windows, height <= x.height and width <= x.width.
Image smaller(const Image& x, index_t height, index_t width, int threads = 0);
/// The same of planes.
Planes smaller(const Planes& x, index_t height, index_t width, int threads = 0);

}  // namespace oriel::portrait
