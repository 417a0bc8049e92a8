// The one place where threads are started.
#pragma once

#include <functional>

#include "oriel/types.h"

namespace oriel::cpu {

/// Threads that a call uses when it names none.
int default_threads();

/// Runs body(begin, end) over a partition of [0, n) on at most `threads` threads (0: default_threads()). The partition
/// never matters for results. An exception of a body reaches the caller.
void parallel_for(index_t n, int threads, const std::function<void(index_t begin, index_t end)>& body);

}  // namespace oriel::cpu
