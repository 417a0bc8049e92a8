// The person's share of each pixel of an edge, hair included, from what is certain on both sides of it.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// 1 plane of height x width from bounds of a mask, 2 planes: certainly the person, possibly the person. 1 where both
/// are 1, 0 where both are 0, elsewhere 0.5: unknown.
Planes trimap_of(const Planes& bounds, index_t height, index_t width, int threads = 0);

/// A trimap that a user drew, in another size: 1 and 0 are within a fiftieth of white and black, the rest is unknown.
Planes drawn_trimap(const Planes& drawn, index_t height, index_t width, int threads = 0);

/// Alpha of the unknown pixels by closed-form matting, with what the colours alone say as a guess, and `rough` (1
/// plane, the mask) as a weaker one, which counts more if person and background look alike; `rough` may be empty.
/// `colours`: 3 planes of the trimap's size.
Planes fine_matte(const Planes& colours, const Planes& trimap, const Planes& rough, int threads = 0);

}  // namespace oriel::portrait
