// A way for tensors whose lanes stand side by side: channels last. Rows of elements are folded where they lie into a
// row of accumulators that stays in the first caches; the windows along it are folded for a whole row in one call.
#pragma once

#include "cpu/channels/channel_rows.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/plan/fold.h"
#include "cpu/plan/tiling.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

bool can_columns(const FoldJob& job);
bool columns_pay(const FoldJob& job);
void run_columns(const FoldJob& job, int threads);

class ColumnFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives.
  ColumnFolder(const FoldJob& job, const Tiling& tiling, Arena& arena);

  /// Folds the rows [begin, end) of a plane's tile. False when a value was found that needs the careful recipe; then
  /// they are folded as if there were none if the pool mends (mend.h), otherwise some are not written at all.
  bool fold(index_t plane, index_t tile, Range rows);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  static constexpr index_t kTurns = 2;  // buffers of one size, read together for one of the next
  using Coords = std::array<index_t, kMaxPooledAxes>;

  // Outputs along a row that are folded together, and what lies under them.
  struct Segment {
    Axis axis;
    index_t before = 0;  // places of identity around the row of accumulators
    index_t after = 0;
    index_t out_begin = -1;
    index_t run_count = 0;
    bool has_taps = true;  // of every output, along this row
  };

  bool goes_on() const { return mends_ || !special_; }
  void make_buffers();
  void make_lane_buffers();
  void set_tile(index_t number);
  void set_segment(const Axis& axis, index_t out_begin);
  void fill_margins();
  void fill_identity(std::byte* to, index_t n) const;
  void count_runs();
  index_t piece_outputs(const Axis& axis) const;
  void fold_pieces(const Coords& c, std::byte* y);
  void fold_row(const Coords& c, const std::byte* x, std::byte* y);
  bool fold_lane_rows(Range rows);
  index_t alike_lane_rows(index_t row, index_t most) const;
  void fold_some_lane_rows(index_t row, index_t count, const std::byte* x, std::byte* y);
  index_t list_inputs(int axis, index_t output, const std::byte* x, const std::byte** inputs);
  void fold_two(const Coords& c, const std::byte* x, std::byte* out);
  void fold_down(int axis, index_t output, const std::byte* x, std::byte* out);
  void fold_elements(index_t first, index_t count, index_t watched, std::byte* out);
  void fold_along(std::byte* out, index_t out_pitch);
  void lower(const Coords& c, std::byte* y);
  LowerParams lower_params(const Coords& c) const;
  // The fold of any number of rows; leaf(first, count, out) folds at most kMaxFold of them.
  template <class Leaf>
  void fold_many(index_t count, index_t n, std::byte* out, const Leaf& leaf);
  template <class Leaf>
  RowIn power(index_t first, index_t count, index_t n, const Leaf& leaf);
  std::byte* buffer(index_t elems, index_t bytes) { return arena_.take(elems * bytes + 128); }

  const FoldJob& job_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const Tiling& tiling_;
  Arena& arena_;
  const ElementKernels kernels_;
  LaneRowKernel lane_rows_;                 // with a fold: rows of outputs are folded in registers
  bool far_ = false;                        // its inputs are beyond the second cache
  InlineList<int, kMaxPooledAxes> across_;  // pooled axes whose rows are folded where they lie, in the sums' order
  int along_ = -1;                          // the pooled axis along a row
  bool mends_ = false;                      // and so folds on when something special was found
  std::array<Axis, kMaxPooledAxes> axis_;   // adaptive ones as uniform ones where they are
  index_t segment_outputs_ = 1;             // along rows that are no row axis of the layout
  index_t in_pitch_ = 0, out_pitch_ = 0;    // of positions along a row, in elements
  bool dense_ = false;                      // a row of x is one run of memory

  std::byte* whole_row_ = nullptr;  // a row of accumulators with its margins,
  std::byte* row_ = nullptr;        // and where its first input is
  std::byte* absent_ = nullptr;     // a row of accumulators that change nothing
  std::byte* result_ = nullptr;     // folded, not lowered
  std::byte* identity_ = nullptr;   // a row of elements that change nothing
  std::byte* planes_ = nullptr;     // rows folded along the first of two axes, by input of the second
  index_t* plane_keys_ = nullptr;   // which they are
  index_t plane_count_ = 0, plane_bytes_ = 0;
  std::byte* powers_ = nullptr;  // folds of 2^i rows: kTurns of each
  index_t power_bytes_ = 0;
  std::array<std::uint8_t, 64> turn_{};
  const std::byte** inputs_ = nullptr;  // rows of elements
  index_t* input_pitches_ = nullptr;    // from a position of each to the next, for lane_rows_
  RowIn* taps_ = nullptr;               // rows of accumulators
  RowRun* all_runs_ = nullptr;
  RowRun* runs_ = nullptr;     // of the segment
  Segment* pieces_ = nullptr;  // of a row of the layout that is folded piece by piece
  index_t piece_count_ = 1;

  RowTile tile_;
  index_t tile_number_ = -1;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
  index_t scanned_ = 0;  // inputs of the axis across rows that have been watched
  bool special_ = false;
  Segment segment_;
};

}  // namespace oriel::cpu
