#include "cpu/rows/rows.h"

#include "cpu/rows/careful_rows.h"
#include "cpu/rows/row_folder.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

// Does tasks [begin, end) with folders that live as long as this call.
void fold_tasks(const FoldJob& job, const Tiling& tiling, index_t begin, index_t end) {
  Arena arena;
  RowFolder plain(job, job.plain, tiling, arena);
  CarefulRows careful(job);
  for (index_t number = begin; number < end; ++number) {
    const auto [plane, tile, rows] = tiling.task(number);
    if (!plain.fold(plane, tile, rows)) careful.fold(plane, tile, tiling, {plain.done(), rows.end});
  }
}

}  // namespace

void run_rows(const FoldJob& job, int threads) {
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads());
  parallel_for(tiling.task_count(), tiling.task_bytes, threads,
               [&](index_t begin, index_t end) { fold_tasks(job, tiling, begin, end); });
}

}  // namespace oriel::cpu
