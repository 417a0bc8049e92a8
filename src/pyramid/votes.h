// Modes of every level of a tile, from numbers of occurrences that are kept from level to level.
#pragma once

#include "pyramid/carries.h"

namespace oriel::detail {

/// Bytes that are kept for an element of a level if its window holds one value.
inline constexpr index_t kVoteBytes = 24;

/// Whether modes of such a pool are made so: of integers, the lowest or highest of those that occur equally often.
bool can_count_votes(const Pool& pool, Dtype dtype);

/// LevelMaker::climb for modes.
Carry climb_by_votes(const Pool& pool, const Tiling& tiling, const Carry& carry, int from, int last,
                     const LevelMaker::BoxOf& box_of, Scratch& scratch, const LevelMaker::Put& put);

}  // namespace oriel::detail
