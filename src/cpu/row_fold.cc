#include "cpu/row_fold.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "cpu/parallel.h"
#include "cpu/recipe.h"
#include "cpu/row_folder.h"

namespace oriel::cpu {
namespace {

// Folds again what `plain` does not treat exactly.
struct Careful {
  Careful(const FoldJob& job, const Tiling& tiling, Arena& arena)
      : how(careful_recipe(*job.problem)), folder(job, how, tiling, arena) {}

  RowReduction how;
  RowFolder folder;
};
static_assert(std::is_trivially_destructible_v<Careful>);  // it lies in an arena

// Does tasks [begin, end) with folders that live as long as this call.
void fold_tasks(const FoldJob& job, const Tiling& tiling, index_t begin, index_t end) {
  static thread_local Arena plain_arena, careful_arena;
  plain_arena.reset();
  RowFolder plain(job, job.plain, tiling, plain_arena);
  Careful* careful = nullptr;  // seldom needed
  for (index_t task = begin; task < end; ++task) {
    const index_t band = task % tiling.bands, tile = task / tiling.bands % tiling.tiles;
    const index_t plane = task / tiling.bands / tiling.tiles;
    const Range rows = {band * tiling.band_rows, std::min(tiling.rows, (band + 1) * tiling.band_rows)};
    if (plain.fold(plane, tile, rows)) continue;
    if (careful == nullptr) {
      careful_arena.reset();
      careful = new (careful_arena.take(sizeof(Careful))) Careful(job, tiling, careful_arena);
    }
    careful->folder.fold(plane, tile, rows);
  }
}

}  // namespace

void run_fold(const FoldJob& job, int threads) {
  const index_t planes = job.layout.plane_count();
  if (planes == 0 || job.layout.lanes.n == 0) return;
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (job.layout.axis[static_cast<std::size_t>(a)].axis.out == 0) return;
  }
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads());
  parallel_for(planes * tiling.tiles * tiling.bands, tiling.task_bytes, threads,
               [&](index_t begin, index_t end) { fold_tasks(job, tiling, begin, end); });
}

}  // namespace oriel::cpu
