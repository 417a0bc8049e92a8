// Closed-form matting (A. Levin, D. Lischinski, Y. Weiss: A closed-form solution to natural image matting, PAMI 30(2),
// 2008): shares of the person that are linear in colour in each window of 3x3 pixels, as nearly as can be.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// How the system is solved.
struct MattingOptions {
  float epsilon = 1e-6F;    ///< variance of colour, of 1, below which a window counts as plain
  int iterations = 24;      ///< of conjugate gradients at full size; each halving of the size has half as many more
  index_t least_side = 24;  ///< of the smallest size at which the solution begins
};

/// What is known before: planes of one size.
struct MattingProblem {
  Planes colours;  ///< 3 planes, 0 to 1
  Planes trimap;   ///< 1 plane: up to 0 is background, from 1 on the person, between is solved for; NaN too
  Planes guess;    ///< 1 plane: what alpha is likely to be
  Planes weight;   ///< 1 plane, >= 0: how much that counts; about 1 outweighs the colours
};

/// Alpha, 1 plane of values from 0 to 1: the trimap's where it is known, elsewhere the least of
/// alpha^T L alpha + sum of weight (alpha - guess)^2, where L is the matting Laplacian. By conjugate gradients, begun
/// with the solution for half the size (means over 2x2). Memory: about 200 bytes for each unknown value and 60 for
/// each other one. The same bits with any number of threads. Throws Error when sizes differ.
Planes closed_form_matte(const MattingProblem& problem, const MattingOptions& options = {}, int threads = 0);

}  // namespace oriel::portrait
