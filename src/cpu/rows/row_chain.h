// A fold by rows as a chain of stages, one for every pooled axis.
#pragma once

#include "cpu/rows/row_source.h"
#include "cpu/rows/row_windows.h"

namespace oriel::cpu {

/// The folds of 2^i taps of a long window along an axis of rows. A window is its powers of two (S8), and each of those
/// two halves: those at one place serve several windows.
class WindowParts {
 public:
  WindowParts() = default;  // of short windows
  WindowParts(const RowReduction& how, const Axis& axis, index_t elems, Arena& arena);

  /// The slot for the fold of `taps` taps from `place` on. True if it is there already; `row` is the row's number but
  /// for this axis.
  bool find(index_t taps, index_t place, index_t task, std::uint64_t row, RowOut& slot);

 private:
  RowSlots* size_ = nullptr;
  bool kept_ = false;  // by place, for the next window
};

/// Folds an axis across rows by folding several rows into one, and the row axis by folding one row seen at several
/// offsets. A stage keeps the rows that the next windows need again.
class RowChain {
 public:
  RowChain(const RowPart& part, RowSource& source, RowWindows& windows, Arena& arena);

  /// The inputs that rows of outputs read of the one axis across, if its rows come in ascending order.
  Range inputs(Range rows) const { return rows_ascend_ ? stage_[0].axis->needs(rows) : Range{}; }
  /// One row of outputs.
  void fold(RowCoords& c, RowOut out) { fold_stage(stage_.size() - 1, c, out); }

  /// Whether only one axis runs across rows, and these are folded where they lie.
  bool rows_ascend() const { return rows_ascend_; }
  /// The pooled axis of the first stage.
  int first_axis() const { return stage_[0].number; }
  /// Room for a row of the first stage's outputs, with identities around it where the row axis comes next.
  RowOut first_row() {
    const RowOut row = levels_[1].at(0, row_stage_ == 1 ? part_.tiling.before_elems : 0);
    part_.fill_margins(levels_[1], row);
    return row;
  }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  // One fold of the chain.
  struct Stage {
    int number = 0;  // of the pooled axis
    const Axis* axis = nullptr;
    index_t ring = 1;  // inputs at hand at a time, a power of two
  };

  void make_levels(Arena& arena);
  index_t rows_kept(int level, index_t elems) const;
  // Elements of a row after `level` stages.
  index_t elems(int level) const {
    return row_stage_ >= 0 && row_stage_ < level ? part_.tile.out_elems() : part_.tile.in_elems();
  }
  index_t slot_of(int level, const RowCoords& c) const;
  std::uint64_t number_of(const RowCoords& c) const;

  RowIn row(int level, RowCoords& c);
  RowIn tap_row(int stage, RowCoords& c, index_t place, index_t step);
  RowIn part_of_window(int stage, RowCoords& c, index_t taps, index_t place);
  void fold_stage(int stage, RowCoords& c, RowOut out);
  void fold_across(int stage, RowCoords& c, RowOut out);

  const RowPart& part_;
  RowSource& source_;
  RowWindows& windows_;
  InlineList<Stage, kMaxPooledAxes> stage_;
  std::array<std::uint64_t, kMaxPooledAxes> number_step_;  // of coordinates, in the number of a row
  std::array<index_t, kMaxPooledAxes> kept_{};             // by level: how many rows
  InlineList<RowSlots, kMaxPooledAxes> levels_;            // rows after so many stages, those of inputs but for
  InlineList<WindowParts, kMaxPooledAxes> parts_;          // by stage
  int row_stage_ = -1;                                     // the stage of the row axis
  bool rows_ascend_ = false;
};

}  // namespace oriel::cpu
