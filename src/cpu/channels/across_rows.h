// Rows of elements folded across, where they lie, into rows of accumulators.
#pragma once

#include "cpu/channels/channel_axes.h"
#include "cpu/recipe/pairwise_rows.h"

namespace oriel::cpu {

inline constexpr int kMostAcross = 2;

/// The folds along the axes across rows: of none of them, where a row is only lifted, of one or of two.
class AcrossRows {
 public:
  /// For rows of at most `elems` elements. Takes its memory from `arena`, which must not be reset while it lives.
  AcrossRows(const ChannelAxes& axes, index_t elems, Arena& arena);

  /// Before another part of a tensor's rows: nothing that is known of rows holds of these.
  void begin_part();
  /// Before another tile.
  void begin_tile();

  /// Folds what the outputs c of the axes across read, at `places` positions of `lanes` elements from x on.
  void fold(const RowCoords& c, const std::byte* x, index_t places, index_t lanes, std::byte* out);

  /// Whether a special value was met since begin_tile.
  bool special() const { return special_; }
  TapRows& taps() { return taps_; }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  void fold_two(const RowCoords& c, const std::byte* x, std::byte* out);
  void fold_down(int axis, index_t output, const std::byte* x, std::byte* out);
  void fold_elements(index_t first, index_t count, index_t watched, std::byte* out);

  const ChannelAxes& axes_;
  const RowReduction& how_;
  TapRows taps_;
  PairwiseRows powers_;
  const std::byte** inputs_;     // the rows that a window reads
  RowIn* folded_ = nullptr;      // of two axes, what a window of the second reads
  std::byte* absent_ = nullptr;  // of two axes, accumulators that change nothing
  // Of two axes, rows that are folded along the first, in a ring by their input of the second. A key tells which.
  std::byte* ring_ = nullptr;
  index_t* keys_ = nullptr;
  index_t ring_rows_ = 0, row_bytes_ = 0;
  index_t places_ = 0, lanes_ = 0;
  bool special_ = false;
};

}  // namespace oriel::cpu
