#include "cpu/rows/careful_rows.h"

#include <new>
#include <type_traits>

#include "cpu/exact/mend.h"
#include "cpu/long/axes.h"
#include "cpu/long/search.h"
#include "cpu/plan/windows.h"
#include "cpu/recipe/recipe.h"
#include "cpu/rows/row_folder.h"

namespace oriel::cpu {
namespace {

constexpr index_t kManyTaps = 64;  // of a window, so that a look for NaN takes less than a fold that keeps them
constexpr index_t kFewRows = 3;    // of lanes, that are folded again for every row of outputs

// Whether an exact recipe that holds of taps in scan order folds no row several times, and all outputs of a row at
// once.
bool suits_scan_order(const RowLayout& layout) {
  if (layout.pooled() != 2) return false;
  if (layout.row_axis < 0) return layout.axis[0].axis.kernel <= kFewRows;
  const Axis& row = layout.axis[static_cast<std::size_t>(layout.row_axis)].axis;
  return !row.adaptive && (row.stride == 1 || row.kernel <= kMaxFold || slides(row));
}

// Of values alone where that suits.
RowReduction recipe_of(const FoldJob& job, Nan nan) {
  const RowReduction exact = exact_recipe(*job.problem, nan);
  const bool suits = job.index == nullptr && (!in_scan_order(exact) || suits_scan_order(job.layout));
  return suits ? exact : careful_recipe(*job.problem);
}

// Rows of a tile, of at most one axis across rows.
OutputBox box_of(const RowLayout& layout, const RowTile& tile, Range rows) {
  OutputBox box;
  box.lanes = {tile.lane_begin, tile.lane_begin + tile.lanes};
  for (int a = 0; a < layout.pooled(); ++a) {
    const Range along = {tile.out_begin, tile.out_begin + tile.axis.out};
    box.outputs[static_cast<std::size_t>(a)] = a == layout.row_axis ? along : rows;
  }
  return box;
}

}  // namespace

struct CarefulRows::State {
  State(const FoldJob& job, Nan nan, const Tiling& tiling, Arena& arena)
      : how(recipe_of(job, nan)), folder(job, how, tiling, arena, in_scan_order(how)) {}

  RowReduction how;
  RowFolder folder;
};

// Made, with what lies in the arena, when first needed: it seldom is.
RowFolder& CarefulRows::folder(Nan nan, const Tiling& tiling) {
  static_assert(std::is_trivially_destructible_v<State>);
  State*& state = nan == Nan::absent ? of_numbers_ : of_all_;
  if (!arena_) arena_.emplace();
  if (state == nullptr) state = new (arena_->take(sizeof(State))) State(job_, nan, tiling, *arena_);
  return state->folder;
}

void CarefulRows::fold(index_t plane, index_t tile, const Tiling& tiling, Range rows) {
  const OutputBox box = box_of(job_.layout, tiling.tile(tile), rows);
  const Range along =
      job_.layout.row_axis >= 0 ? box.outputs[static_cast<std::size_t>(job_.layout.row_axis)] : Range{0, 1};
  if (takes_seek_exactly(job_)) return seek_rows(job_, plane, rows, along, box.lanes);
  if (takes_axes_exactly(job_)) return fold_axes_exactly(job_, plane, rows, along, box.lanes);
  const bool a_box = job_.layout.row_axis >= 0 && (job_.layout.pooled() == 1 || suits_scan_order(job_.layout));
  if (mends(job_) && a_box && job_.problem->taps() >= kManyTaps) {
    Mender mender(job_, plane, box);
    if (mender.find_nan()) {
      folder(Nan::absent, tiling).fold(plane, tile, rows);
      return mender.write_nan();
    }
  }
  folder(Nan::possible, tiling).fold(plane, tile, rows);
}

bool CarefulRows::mend(index_t plane, index_t number, const Tiling& tiling, Range rows) const {
  const RowTile tile = tiling.tile(number);
  const Range lanes = {tile.lane_begin, tile.lane_begin + tile.lanes};
  return each_box(job_.layout, rows, {tile.out_begin, tile.out_begin + tile.axis.out}, lanes,
                  [&](const OutputBox& box) { return oriel::cpu::mend(job_, plane, box); });
}

void CarefulRows::fold(index_t plane, Range rows) {
  if (!tiling_) tiling_.emplace(job_.layout, job_.plain, 1);
  for (index_t tile = 0; tile < tiling_->tiles; ++tile) fold(plane, tile, *tiling_, rows);
}

}  // namespace oriel::cpu
