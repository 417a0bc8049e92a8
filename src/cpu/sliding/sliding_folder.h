// One thread's part of a fold over long windows: a block of rows of outputs at a time, first across rows, then along
// them.
#pragma once

#include "cpu/rows/careful_rows.h"
#include "cpu/sliding/sliding_kernels.h"
#include "cpu/sliding/sliding_tile.h"

namespace oriel::cpu {

/// Whether rows of x are folded along where they lie, but for tiles with padding: nothing is folded across, lifted or
/// looked at for special values.
bool folds_in_place(const FoldJob& job, const LongAxes& axes);

LongKernels long_kernels(const Problem& problem, const RowReduction& plain);

/// The rows of inputs at places across a tile, as accumulators.
class PlaceRows {
 public:
  /// Rows of `row_bytes`; `places` of them are looked at together. Takes its memory from `arena`, which must not be
  /// reset while this lives.
  PlaceRows(const FoldJob& job, const SlidingTile& tile, index_t row_bytes, index_t places, Arena& arena);

  /// Nothing is known of the tile, or of a class of its outputs.
  void forget();
  /// Looks up the rows [from, count) of those a dilation apart from a place on. True when one is known to hold a
  /// special value.
  bool gather(index_t first_place, index_t from, index_t count);
  const void* const* rows() const { return rows_; }
  const std::byte* identity() const { return identity_; }  // a row of absent taps

 private:
  // What a slot for a lifted row holds.
  struct Lifted {
    index_t input = -1;
    bool special = false;
  };

  bool scan_row(const std::byte* x, index_t pitch) const;
  const void* lifted_row(index_t input, bool& special);

  const FoldJob& job_;
  const RowReduction& how_;
  const SlidingTile& tile_;
  const bool lifts_;  // rows of x are copied or lifted before they are folded
  const index_t row_bytes_;
  const void** rows_;
  std::byte* identity_;
  std::byte* lifted_ = nullptr;
  Lifted* lifted_key_ = nullptr;
  index_t lifted_slots_ = 0;
};

class LongFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while this lives.
  LongFolder(const FoldJob& job, const Tiling& tiling, Arena& arena);

  void fold(const RowTask& task);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  void fill_margins();
  index_t block_outputs() const;
  void fold_class(Range rows, index_t first);
  void fold_again(Range outputs);
  std::byte* folded_row(index_t i) const { return folded_ + i * row_bytes_ + before_bytes_; }
  void fold_along(const std::byte* row, index_t output);
  bool sums_into_y(index_t output, LongRow& row);

  const FoldJob& job_;
  const RowReduction& how_;
  const Tiling& tiling_;
  SlidingTile tile_;
  CarefulRows careful_;
  const LongKernels kernels_;
  const bool sum_;
  const bool dense_y_;
  const bool direct_;  // the last fold writes y itself
  const bool in_place_;
  const bool mends_;            // special values do not keep a fold from its end
  const index_t block_;         // windows across rows that one call takes
  const index_t before_bytes_;  // room before a row
  const index_t row_bytes_;     // of rows that are folded across
  PlaceRows inputs_;
  std::byte* folded_;
  std::byte* result_;
  std::byte* picked_ = nullptr;  // the results that there are windows for
  void* across_scratch_;
  void* along_scratch_ = nullptr;
  void** out_;
  LongQuotient* quotients_;
};

}  // namespace oriel::cpu
