#include "tile/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>

namespace oriel::tile {

void spread(index_t begin, index_t end, index_t least, const std::function<void(index_t, index_t)>& body) {
  // The thread sanitizer cannot see how oneTBB hands work over, so what happens before what is said here.
  std::atomic<int> handed{0};
  handed.store(1, std::memory_order_release);
  tbb::this_task_arena::isolate([&] {  // a thread that waits takes no other work of the caller's
    tbb::parallel_for(tbb::blocked_range<index_t>(begin, end, static_cast<std::size_t>(least)),
                      [&](const tbb::blocked_range<index_t>& range) {
                        (void)handed.load(std::memory_order_acquire);
                        body(range.begin(), range.end());
                        handed.fetch_add(1, std::memory_order_release);
                      });
  });
  (void)handed.load(std::memory_order_acquire);
}

}  // namespace oriel::tile
