// One thread's folds of rows of windows in registers, several rows in one call.
#pragma once

#include "cpu/channels/channel_axes.h"
#include "cpu/channels/channel_rows.h"
#include "cpu/plan/counts.h"

namespace oriel::cpu {

class RegisterRows {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives.
  RegisterRows(const ChannelAxes& axes, const LaneRowKernel& kernel, const Tiling& tiling, Arena& arena);

  /// Folds the rows of a task. False when a value was found that needs the careful recipe; then they are folded as if
  /// there were none if the pool mends (mend.h), otherwise some are not written at all.
  bool fold(const RowTask& task);

 private:
  void set_tile(index_t number);
  void set_outputs(const Axis& axis);
  bool fold_rows(Range rows);
  index_t rows_alike(index_t row, index_t most) const;
  void fold_some(index_t row, index_t count, const std::byte* x, std::byte* y);

  const ChannelAxes& axes_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const Tiling& tiling_;
  const LaneRowKernel kernel_;
  const int across_;  // the pooled axis across rows; -1: none
  const bool far_;    // inputs are beyond the second cache
  TapRows taps_;
  const std::byte** inputs_;  // the rows of elements of one call,
  index_t* input_pitches_;    // and from a position of each of them to the next
  std::byte* scratch_;
  RowRun* runs_;

  RowTile tile_;
  index_t tile_number_ = -1;
  Axis along_;        // the outputs along a row that are folded together
  RowCounts counts_;  // of these
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
  bool special_ = false;
};

}  // namespace oriel::cpu
