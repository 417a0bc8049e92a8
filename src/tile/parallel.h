// The one place of the tile language where threads are started.
#pragma once

#include <functional>

#include "oriel/types.h"

namespace oriel::tile {

/// Runs body(begin, end) over a partition of [begin, end), at least `least` at a time, on all threads of the process.
/// The partition never matters for results.
void spread(index_t begin, index_t end, index_t least, const std::function<void(index_t begin, index_t end)>& body);

}  // namespace oriel::tile
