// The parts that a fold is cut into: pieces of rows that fit a cache, and bands of rows for threads.
#pragma once

#include <algorithm>

#include "cpu/plan/layout.h"
#include "reduction.h"

namespace oriel::cpu {

/// One part of all rows: some outputs of the row axis, or, without one, some of the lanes.
struct RowTile {
  Axis axis;             // the row axis cut to this tile; a single tap without a row axis
  index_t in_begin = 0;  // its first input and output in the whole row axis
  index_t out_begin = 0;
  index_t lane_begin = 0;
  index_t lanes = 1;
  index_t before = 0;  // places that windows look at before the first input and after the last
  index_t after = 0;

  index_t places() const { return axis.in == 0 ? 0 : (axis.in - 1) * axis.spacing + 1; }
  index_t in_elems() const { return axis.in * lanes; }
  index_t out_elems() const { return axis.out * lanes; }
  /// Where its inputs (kX) or outputs (kY, kIndex) of a plane begin in an operand, in elements.
  index_t offset(const RowLayout& layout, index_t plane, Operand operand) const;
  /// From one position of its rows to the next in an operand, in elements; without a row axis there is only one.
  index_t position_pitch(const RowLayout& layout, Operand operand) const {
    return layout.row_axis < 0 ? lanes : layout.axis[static_cast<std::size_t>(layout.row_axis)].pitch[operand];
  }
};

/// What one task of a fold does: some rows of outputs of one tile of one plane.
struct RowTask {
  index_t plane = 0;
  index_t tile = 0;
  Range rows;
};

inline constexpr index_t kRowBytes = 32 * 1024;  // accumulators of one row: a few rows stay in the first two caches

struct Tiling {
  Tiling(const RowLayout& layout, const RowReduction& reduction, int threads, index_t row_bytes = kRowBytes);

  RowTile tile(index_t number) const;

  /// The tasks of all planes, by number.
  index_t task_count() const { return layout_->plane_count() * tiles * bands; }
  RowTask task(index_t number) const {
    const index_t begin = number % bands * band_rows, tile = number / bands;
    return {tile / tiles, tile % tiles, {begin, std::min(rows, begin + band_rows)}};
  }

  /// Bands no shorter than a window, and no more than keep all threads busy: each reads a window's rows more.
  void keep_windows(index_t planes, index_t kernel, int threads);

  index_t tiles = 1;
  index_t rows = 1;       // rows of outputs in a plane
  index_t band_rows = 1;  // of which one task does so many
  index_t bands = 1;
  index_t task_bytes = 0;  // that one task reads, about
  // The largest of all tiles, in elements:
  index_t in_elems = 0;
  index_t out_elems = 0;
  index_t before_elems = 0;
  index_t after_elems = 0;
  index_t place_elems = 0;

 private:
  const RowLayout* layout_;
  index_t tile_size_ = 1;  // outputs of the row axis, or lanes
};

}  // namespace oriel::cpu
