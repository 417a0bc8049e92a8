// What colours the person and the background have behind an edge where both are mixed.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// Six planes: the person's local colour (RGB), then the background's. `colours` are 3 planes, `alpha` 1 of their size.
/// Local averages of what belongs to each for certain, over boxes that grow until they hold some of it (after M. Forte:
/// Approximate fast foreground colour estimation, 2021); the image's own colour if there is none in reach.
/// `where` (1 plane of their size; empty: everywhere) is above 0 where colours are wanted; they are 0 elsewhere.
Planes local_colours(const Planes& colours, const Planes& alpha, index_t radius, const Planes& where = {},
                     int threads = 0);

/// A channel of the person alone: what `value` = alpha * result + (1 - alpha) * background is left to be, given local
/// colours of both; within [0, 1].
inline float unmixed(float value, float alpha, float person, float background) {
  const float result = person + alpha * (value - alpha * person - (1 - alpha) * background);
  return result < 0 ? 0 : (result > 1 ? 1 : result);
}

}  // namespace oriel::portrait
