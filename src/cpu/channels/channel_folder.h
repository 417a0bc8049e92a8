// One thread's folds of windows through a row of accumulators.
#pragma once

#include "cpu/channels/across_rows.h"
#include "cpu/plan/counts.h"

namespace oriel::cpu {

class ChannelFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives.
  ChannelFolder(const ChannelAxes& axes, const Tiling& tiling, Arena& arena);

  /// Folds the rows of a task. False when a value was found that needs the careful recipe; then they are folded as if
  /// there were none if the pool mends (mend.h), otherwise some are not written at all.
  bool fold(const RowTask& task);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  // Outputs along a row that are folded together, and what lies under them.
  struct Segment {
    Axis axis;
    index_t before = 0;  // places of identity around the row of accumulators
    index_t after = 0;
    index_t out_begin = -1;
    RowCounts counts;
  };

  // How much is folded at a time.
  struct Room {
    Room(const ChannelAxes& axes, const Tiling& tiling);

    index_t elems, margins, outputs;  // elements of a row of accumulators, around it, and of results
    index_t segment_outputs = 1;      // along rows that are no row axis of the layout
  };

  bool goes_on() const { return axes_.mends || !rows_.special(); }
  void set_tile(index_t number);
  void set_segment(const Axis& axis, index_t out_begin, RowRun* runs);
  void fill_margins();
  index_t piece_outputs(const Axis& axis) const;
  void fold_segment(const RowCoords& c, Range outputs, std::byte* y);
  void fold_pieces(const RowCoords& c, std::byte* y);
  void fold_row(const RowCoords& c, const std::byte* x, std::byte* y);
  void fold_along(std::byte* out, index_t out_pitch);
  bool needs_no_lowering(const RowCoords& c) const;
  LowerParams lower_params(const RowCoords& c) const;

  const ChannelAxes& axes_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const Tiling& tiling_;
  const Room room_;
  AcrossRows rows_;
  PairwiseRows powers_;    // of windows along the row
  std::byte* whole_row_;   // a row of accumulators with its margins
  std::byte* row_;         // the first input of that row
  std::byte* result_;      // a row of outputs that is folded, but not lowered
  RowRun* runs_;           // room for those of all segments of a row
  RowIn* taps_ = nullptr;  // of a window along the row
  Segment segment_;
  Segment* pieces_ = nullptr;  // of a row of the layout that is folded piece by piece
  index_t piece_count_ = 1;

  RowTile tile_;
  index_t tile_number_ = -1;
  index_t out_pitch_ = 0;  // from an output along a row to the next, in elements
  const std::byte* x_ = nullptr;
};

}  // namespace oriel::cpu
