// Results of windows with too few valid taps (S14).
#pragma once

#include "oriel/problem.h"

namespace oriel::cpu {

/// The least number of valid taps that is enough, of `has` that exist.
index_t enough_of(const Pool& pool, index_t has);
/// The result if there are fewer, in 8 bytes.
void store_fill(const Problem& problem, void* to);

}  // namespace oriel::cpu
