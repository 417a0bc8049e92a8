// How levels are made from level 0 or from each other.
#pragma once

#include "oriel/pyramid.h"

namespace oriel::detail {

enum class Way : std::uint8_t {
  nested,    ///< a level is the same pool of the level before, to the bit
  picked,    ///< the first element of each window
  sums,      ///< sums, and numbers of valid elements, are kept exactly and rounded once for each level
  votes,     ///< how often each value occurs is kept
  direct,    ///< a pool of level 0
  previous,  ///< a pool of the level before, which is rounded
};

Way way_of(const Pyramid& pyramid, Dtype dtype);
/// Bytes kept for an element of a level besides its value.
index_t carry_bytes(const Pyramid& pyramid, Way way);
/// Whether a level can be made of what is kept of the one before, without level 0.
inline bool can_continue(Way way) { return way == Way::nested || way == Way::sums || way == Way::previous; }

}  // namespace oriel::detail
