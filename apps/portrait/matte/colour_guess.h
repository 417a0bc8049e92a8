// What a pixel's colour alone says about whether it shows the person.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Planes of one size, 1 each: alpha as the colours say it, 0 or 1; how much that is worth, from 0 to `most`; how alike
/// the colours of the person and of the background are nearby, from 0 to 1.
struct ColourGuess {
  Planes guess, weight, alike;
};

/// For the unknown pixels of `trimap` (up to 0 is background, from 1 on the person, between unknown); elsewhere the
/// weight is 0. Two questions must have the same clear answer. Of what is known nearby, is the colour like the person's
/// or the background's (linear discriminant of the local means and covariances)? In the whole image, is this colour
/// found in one of both only (histograms of 16x16x16 colours)? So mixed pixels have no weight. `colours`: 3 planes,
/// 0 to 1. The same bits with any number of threads.
ColourGuess guess_by_colour(const Planes& colours, const Planes& trimap, float most, int threads = 0);

}  // namespace oriel::portrait
