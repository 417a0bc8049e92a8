#include "apps/portrait/image/rows.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>

namespace oriel::portrait {

void for_rows(index_t rows, int threads, const std::function<void(index_t, index_t)>& body) {
  if (rows <= 0) return;
  if (threads == 1) return body(0, rows);
  const int most = tbb::this_task_arena::max_concurrency(), used = threads == 0 ? most : std::min(threads, most);
  const index_t grain = std::max<index_t>(rows / (index_t{4} * used), 1);
  // The thread sanitizer cannot see how oneTBB hands work over, so what happens before what is said here.
  std::atomic<int> handed{0};
  const auto run = [&] {
    handed.store(1, std::memory_order_release);
    tbb::this_task_arena::isolate([&] {  // a thread that waits takes no other work of the caller's
      tbb::parallel_for(tbb::blocked_range<index_t>(0, rows, static_cast<std::size_t>(grain)),
                        [&](const tbb::blocked_range<index_t>& part) {
                          (void)handed.load(std::memory_order_acquire);
                          body(part.begin(), part.end());
                          handed.fetch_add(1, std::memory_order_release);
                        });
    });
    (void)handed.load(std::memory_order_acquire);
  };
  if (used == most) return run();  // oneTBB prints a warning when asked for more
  tbb::task_arena(used).execute(run);
}

}  // namespace oriel::portrait
