#include "apps/portrait/image/rows.h"

#include <tbb/task_arena.h>

#include <algorithm>

#include "parallel_loop.h"

namespace oriel::portrait {

void for_rows(index_t rows, int threads, const std::function<void(index_t, index_t)>& body) {
  if (rows <= 0) return;
  if (threads == 1) return body(0, rows);
  const int most = tbb::this_task_arena::max_concurrency(), used = threads == 0 ? most : std::min(threads, most);
  const index_t least = std::max<index_t>(rows / (index_t{4} * used), 1);
  const auto run = [&] { detail::parallel_loop(0, rows, least, body); };
  if (used == most) return run();  // oneTBB prints a warning when asked for more
  tbb::task_arena(used).execute(run);
}

}  // namespace oriel::portrait
