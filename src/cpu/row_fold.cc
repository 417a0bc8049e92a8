#include "cpu/row_fold.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "cpu/axes_way.h"
#include "cpu/parallel.h"
#include "cpu/recipe.h"
#include "cpu/row_folder.h"
#include "cpu/seek_way.h"
#include "cpu/ways.h"

namespace oriel::cpu {
namespace {

constexpr index_t kFewRows = 3;  // of lanes, that are folded again for every row of outputs

// Does tasks [begin, end) with folders that live as long as this call.
void fold_tasks(const FoldJob& job, const Tiling& tiling, index_t begin, index_t end) {
  Arena arena;
  RowFolder plain(job, job.plain, tiling, arena);
  CarefulRows careful(job);
  for (index_t task = begin; task < end; ++task) {
    const index_t band = task % tiling.bands, tile = task / tiling.bands % tiling.tiles;
    const index_t plane = task / tiling.bands / tiling.tiles;
    const Range rows = {band * tiling.band_rows, std::min(tiling.rows, (band + 1) * tiling.band_rows)};
    if (!plain.fold(plane, tile, rows)) careful.fold(plane, tile, tiling, {plain.done(), rows.end});
  }
}

}  // namespace

void run_fold(const FoldJob& job, int threads) {
  const index_t planes = job.layout.plane_count();
  if (planes == 0 || job.layout.lanes.n == 0) return;
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (job.layout.axis[static_cast<std::size_t>(a)].axis.out == 0) return;
  }
  way_of(job).run(job, threads);
}

void run_rows(const FoldJob& job, int threads) {
  const index_t planes = job.layout.plane_count();
  const Tiling tiling(job.layout, job.plain, threads > 0 ? threads : default_threads());
  parallel_for(planes * tiling.tiles * tiling.bands, tiling.task_bytes, threads,
               [&](index_t begin, index_t end) { fold_tasks(job, tiling, begin, end); });
}

namespace {

// Of values alone, in scan order only where that folds no row several times, and all outputs of a row at once.
RowReduction recipe_of(const FoldJob& job) {
  const RowReduction exact = exact_recipe(*job.problem);
  if (job.index != nullptr) return careful_recipe(*job.problem);
  if (!in_scan_order(exact)) return exact;
  const RowLayout& layout = job.layout;
  if (layout.pooled() != 2) return careful_recipe(*job.problem);
  if (layout.row_axis < 0) return layout.axis[0].axis.kernel <= kFewRows ? exact : careful_recipe(*job.problem);
  const Axis& row = layout.axis[static_cast<std::size_t>(layout.row_axis)].axis;
  const bool at_once = !row.adaptive && (row.stride == 1 || row.kernel <= kMaxFold || slides(row));
  return at_once ? exact : careful_recipe(*job.problem);
}

}  // namespace

struct CarefulRows::State {
  State(const FoldJob& job, const Tiling& tiling, Arena& arena)
      : how(recipe_of(job)), folder(job, how, tiling, arena, in_scan_order(how)) {}

  RowReduction how;
  RowFolder folder;
};

void CarefulRows::fold(index_t plane, index_t tile, const Tiling& tiling, Range rows) {
  const bool seek = takes_seek_exactly(job_);
  if (seek || takes_axes_exactly(job_)) {
    const RowTile part = tiling.tile(tile);
    const Range along = {part.out_begin, part.out_begin + part.axis.out};
    const Range lanes = {part.lane_begin, part.lane_begin + part.lanes};
    return (seek ? seek_rows : fold_axes_exactly)(job_, plane, rows, along, lanes);
  }
  static_assert(std::is_trivially_destructible_v<State>);  // it lies in the arena
  if (state_ == nullptr) {
    Arena& arena = arena_.emplace();
    state_ = new (arena.take(sizeof(State))) State(job_, tiling, arena);
  }
  state_->folder.fold(plane, tile, rows);
}

void CarefulRows::fold(index_t plane, Range rows) {
  if (!tiling_) tiling_.emplace(job_.layout, job_.plain, 1);
  for (index_t tile = 0; tile < tiling_->tiles; ++tile) fold(plane, tile, *tiling_, rows);
}

}  // namespace oriel::cpu
