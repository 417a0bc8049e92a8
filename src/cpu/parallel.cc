#include "cpu/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>

namespace oriel::cpu {

int default_threads() { return tbb::this_task_arena::max_concurrency(); }

void spread(index_t n, index_t least, int threads, const std::function<void(index_t, index_t)>& body) {
  constexpr index_t kParts = 4;  // of each thread: enough to even out, few enough that what a body sets up is little
  const int most = default_threads(), used = threads == 0 ? most : std::min(threads, most);
  least = std::max(least, n / (kParts * used));
  // The thread sanitizer cannot see how oneTBB hands work over, so what happens before what is said here.
  std::atomic<int> handed{0};
  const auto run = [&] {
    handed.store(1, std::memory_order_release);
    tbb::parallel_for(tbb::blocked_range<index_t>(0, n, static_cast<std::size_t>(least)),
                      [&](const tbb::blocked_range<index_t>& range) {
                        (void)handed.load(std::memory_order_acquire);
                        body(range.begin(), range.end());
                        handed.fetch_add(1, std::memory_order_release);
                      });
    (void)handed.load(std::memory_order_acquire);
  };
  if (threads == 0 || threads >= default_threads()) return run();  // oneTBB prints a warning when asked for more
  tbb::task_arena(threads).execute(run);
}

}  // namespace oriel::cpu
