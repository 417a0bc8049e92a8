// A loop in parts on oneTBB's threads. (The CPU backend's loops are its own: cpu/runtime/parallel.h.)
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>

#include "oriel/types.h"

namespace oriel::detail {

/// Runs body(begin, end) over a partition of [begin, end), at least `least` at a time. The partition never matters for
/// results. A thread that waits takes no other work of the caller's.
template <class Body>
void parallel_loop(index_t begin, index_t end, index_t least, const Body& body) {
  // The thread sanitizer cannot see how oneTBB hands work over, so what happens before what is said here.
  std::atomic<int> handed{0};
  handed.store(1, std::memory_order_release);
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(tbb::blocked_range<index_t>(begin, end, static_cast<std::size_t>(least)),
                      [&](const tbb::blocked_range<index_t>& part) {
                        (void)handed.load(std::memory_order_acquire);
                        body(part.begin(), part.end());
                        handed.fetch_add(1, std::memory_order_release);
                      });
  });
  (void)handed.load(std::memory_order_acquire);
}

}  // namespace oriel::detail
