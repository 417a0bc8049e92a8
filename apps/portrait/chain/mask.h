// A network's soft mask made clean: a curve, its main parts, no specks, no cracks; and whether there is a person at
// all.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// How a mask is cleaned. Values are shares of 1, radii are pixels of the mask.
struct MaskOptions {
  float low = 0.25F, high = 0.75F;  ///< values up to `low` are background, from `high` on the person; between: a curve
  float keep_parts = 0.25F;         ///< parts smaller than this share of the largest go; 1 keeps the largest alone
  float fill_holes = 0.03F;         ///< holes smaller than this share of all parts are filled
  index_t open = 1, close = 1;      ///< radii of what is removed and closed
  float least_area = 0.01F;         ///< of the picture that a person covers
  float least_confidence = 0.75F;   ///< mean of the network's values where it sees a person
};

/// Throws Error for values out of range, naming the option of the command.
void check(const MaskOptions& options);

/// What a mask says about there being a person.
struct Person {
  bool found = false;
  double area = 0;        ///< share of the picture
  double confidence = 0;  ///< mean of the network's values there; 0 where nothing is seen
};

/// A mask after cleaning, and the verdict.
struct CleanMask {
  Planes mask;
  Person person;
};

/// 3t^2 - 2t^3 with t from 0 at `low` to 1 at `high`; a step at `low` where both are the same.
float soft_threshold(float value, float low, float high);

/// The parts of `mask` (neighbours, corners too, of values >= 0.5) that have at least `keep` times the largest part's
/// area, with the soft values within two pixels of them; everything else becomes 0.
Planes main_parts(const Planes& mask, float keep);

/// `mask` without its holes (neighbours, without corners, of values < 0.5, none at the mask's border) of less than
/// `share` of the area that is >= 0.5, their soft rims with them. Holes stay where the mean of `seen` (the network's
/// own values, or empty) is below 0.15: the network is sure that it sees the background there, between an arm and a
/// body.
Planes without_holes(const Planes& mask, float share, const Planes& seen = {});

/// The verdict about a network's mask of values from 0 to 1.
Person find_person(const Planes& mask, const MaskOptions& options);

/// Curve, opening, main parts, holes, closing, in this order. NaN counts as 0.
CleanMask clean(const Planes& mask, const MaskOptions& options, int threads = 0);

}  // namespace oriel::portrait
