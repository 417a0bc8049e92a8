// The guided filter with a guide in colour (K. He, J. Sun, X. Tang: Guided image filtering, PAMI 35(6), 2013): a mask
// that follows the edges of a picture, made of means over boxes.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Four planes a_r, a_g, a_b, b, so that a_r R + a_g G + a_b B + b is the filtered mask: the least squares fit of
/// `mask` (1 plane) by the colours of `guide` (3 planes of its size, from 0 to 1) in each box of that radius, `epsilon`
/// holding the slopes down, averaged over the boxes that hold a pixel. Enlarged, they filter a larger guide (He, Sun:
/// Fast guided filter, 2015). Throws Error when the sizes differ.
Planes guided_coefficients(const Planes& guide, const Planes& mask, index_t radius, float epsilon, int threads = 0);

/// The filtered mask in the guide's own size; values may leave [0, 1] by a little.
Planes guided_filter(const Planes& guide, const Planes& mask, index_t radius, float epsilon, int threads = 0);

}  // namespace oriel::portrait
