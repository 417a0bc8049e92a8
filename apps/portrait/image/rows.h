// The one place where the chain's own loops meet threads; its pools have theirs.
#pragma once

#include <functional>

#include "oriel/types.h"

namespace oriel::portrait {

/// Calls body(begin, end) for parts of [0, rows) by at most `threads` threads (0: all). Parts never change a result.
void for_rows(index_t rows, int threads, const std::function<void(index_t, index_t)>& body);

}  // namespace oriel::portrait
