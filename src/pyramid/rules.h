// What the parts of a pyramid's making agree on.
#pragma once

#include "oriel/pyramid.h"

namespace oriel::detail {

/// What the levels are pools of.
LevelSource level_source(const Pyramid& pyramid);
/// The pool that makes levels, without windows.
Pool level_pool(const Pyramid& pyramid);
/// Throws Error for an option that the op does not have, or not with windows of so many taps, those of level 1.
void check_options(const Pyramid& pyramid, Dtype dtype, index_t taps);

/// The taps of the largest windows that one tile holds: 128^3. Levels above are made of carries.
inline constexpr index_t kMostTileTaps = index_t{1} << 21;

}  // namespace oriel::detail
