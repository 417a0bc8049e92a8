// One thread's part of a fold: makes rows of outputs from rows of inputs, and keeps those that are needed again.
#pragma once

#include "cpu/plan/fold.h"
#include "cpu/plan/tiling.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/inline_list.h"
#include "cpu/simd/strided_copy.h"

namespace oriel::cpu {

class RowFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives. `scan_order`: axes are folded from the
  /// problem's last on, so that taps are combined in scan order.
  RowFolder(const FoldJob& job, const RowReduction& reduction, const Tiling& tiling, Arena& arena,
            bool scan_order = false);

  /// Folds the rows [begin, end) of a plane's tile. False when scan found a value that needs the careful reduction;
  /// then the rows from done() on are not, or not rightly, written.
  bool fold(index_t plane, index_t tile, Range rows);
  /// After that, the first row that is not rightly written.
  index_t done() const { return done_; }

 private:
  static constexpr index_t kScanBytes = index_t{4} << 10;  // scanned at a time, to be in the first cache when folded
  static constexpr index_t kTurns = 4;  // slots of folds that are not kept: two are read while a third is written
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  static constexpr int log2_of(index_t m) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(m))) - 1;
  }

  // Where a row is: of a pooled axis that has been folded the output's number, of another one the input's.
  using Coords = std::array<index_t, kMaxPooledAxes>;
  // Which row a slot holds, and of which task.
  struct Key {
    index_t task = -1;
    std::uint64_t row = 0;
    index_t place = 0;  // of parts of windows: where they begin, padding included
  };
  // Rows that are kept. A slot holds `before` elements of identity, the row, and `after` elements of identity.
  struct Slots {
    index_t count = 0;
    index_t value_bytes = 0;  // from one slot to the next
    index_t extra_bytes = 0;
    std::byte* value = nullptr;
    std::byte* extra = nullptr;
    Key* keys = nullptr;
    index_t margins_of = -1;  // the tile that its margins are filled for
    index_t turn = 0;         // for slots that are taken one after the other
  };
  // One fold of the chain.
  struct Stage {
    int number = 0;  // of the pooled axis
    const Axis* axis = nullptr;
    index_t radix = 1;  // what one tap adds to a code
    index_t ring = 1;   // inputs at hand at a time, a power of two
    Range full;         // outputs with all their taps, where they are counted
  };
  // The folds of 2^i taps of a long window along an axis of rows.
  struct Parts {
    Slots* size = nullptr;
    bool kept = false;  // by place, for the next window
  };

  Slots make_slots(index_t count, index_t elems);
  Slots* make_sizes(index_t most);
  void make_levels();
  Parts make_parts(const Axis& axis, index_t elems);
  void make_window_scratch();
  void make_window_powers();
  void make_phases();
  static index_t ring(const Axis& axis);
  void set_tile(index_t number);
  void count_taps();

  RowOut slot(const Slots& slots, index_t i, index_t offset) const;
  RowIn shifted(RowIn row, index_t elems, index_t step) const {
    const auto move = [elems](const void* p, index_t bytes) {
      return p == nullptr ? nullptr : static_cast<const std::byte*>(p) + elems * bytes;
    };
    return {move(row.value, how_.value_bytes), move(row.extra, how_.extra_bytes), step};
  }
  // Elements of a row after `level` stages.
  index_t elems(int level) const {
    return row_stage_ >= 0 && row_stage_ < level ? tile_.out_elems() : tile_.in_elems();
  }
  index_t slot_index(int level, const Coords& c) const;
  std::uint64_t row_number(const Coords& c) const;
  bool find(const Slots& slots, index_t i, std::uint64_t row, index_t place = 0) const;

  RowIn row(int level, Coords& c);
  RowIn leaf(Coords& c);
  void scan_ahead(index_t input);
  void gather_raw(const std::byte* x, std::byte* out) const;
  RowIn tap_row(int stage, Coords& c, index_t place, index_t step);
  RowIn part(int stage, Coords& c, index_t taps, index_t place);
  void fold_stage(int stage, Coords& c, RowOut out);
  void fold_across(int stage, Coords& c, RowOut out);
  void fold_along(int stage, Coords& c, RowOut out);
  RowIn with_margins(RowIn src);
  void join(const RowIn* parts, int count, index_t n, RowOut out) const;
  void fill_margins(Slots& slots, RowOut row) const;
  void fold_step_one(RowIn origin, index_t kernel, index_t move, index_t n, RowOut out);
  void fold_every_place(RowIn origin, RowOut out);
  void fold_phases(RowIn origin, RowOut out);
  void fold_each(RowIn origin, RowOut out);
  void fold_each_alone(RowIn origin, RowOut out);
  void fold_halves(RowIn row, index_t width, RowOut out);
  void halve(RowIn row, index_t n, RowOut out);
  void fold_taps(const RowIn* taps, index_t count, index_t n, RowOut out);
  RowIn power(const RowIn* taps, index_t count, index_t n);
  LowerParams lower_params(const Coords& c) const;
  bool steps_in_pairs(const Axis& axis) const;
  bool is_simple() const;
  bool fold_simple(Range rows);
  Coords first_row(index_t number) const;
  void next_row(Coords& c) const;
  void finish(Coords& c);
  void write_indices(const Coords& c, RowIn row);
  index_t offset_of(const Coords& c, Operand operand) const;

  const FoldJob& job_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const Tiling& tiling_;
  const StridedCopy copy_ = strided_copy();
  Arena& arena_;
  const bool counts_;   // taps and divisors are asked for
  const bool repeats_;  // a tap that is folded twice changes nothing

  InlineList<Stage, kMaxPooledAxes> stage_;
  std::array<index_t, kMaxPooledAxes> radix_;              // of tap codes, by pooled axis
  std::array<std::uint64_t, kMaxPooledAxes> number_step_;  // of coordinates, in the number of a row
  InlineList<Slots, kMaxPooledAxes> levels_;               // rows after so many stages
  InlineList<Parts, kMaxPooledAxes> parts_;                // by stage
  int row_stage_ = -1;                                     // the stage of the row axis
  RowOut identity_;                                        // a row of absent taps
  Slots raw_;                                              // gathered elements before they are lifted
  Slots staging_;                                          // a row with its margins
  Slots result_;
  // For the windows along rows:
  Slots* doubled_ = nullptr;  // folds of 2^i taps at every place
  Slots* powers_ = nullptr;   // folds of 2^i taps of one window, or of all windows at once
  Slots every_;               // results at every place, of which windows that step take some
  Slots halves_;              // of one window, and what it is halved to
  Slots pairs_;               // the first of every two, and the second
  Slots rests_;               // of a window's powers of two
  bool slides_ = false;       // long windows that overlap much: folded at every place
  bool alone_ = false;        // long windows that overlap little: halved one by one
  Slots phases_;
  index_t phase_count_ = 0;
  index_t* phase_residue_ = nullptr;  // of every phase that a tap reads
  RowIn* taps_ = nullptr;
  RowRun* runs_ = nullptr;

  // The part being folded:
  RowTile tile_;
  index_t tile_number_ = -1;
  index_t task_ = 0;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
  std::byte* index_ = nullptr;
  index_t flat_ = 0;
  index_t run_count_ = 0;
  index_t scan_end_ = 0;
  index_t scanned_ = 0;  // inputs of the first stage's axis that are scanned, where rows come in their order
  index_t done_ = 0;
  bool special_ = false;
  bool dense_x_ = false;      // rows of x, and of y, are contiguous
  bool rows_ascend_ = false;  // one axis across rows, visited in ascending order
  bool in_place_ = false;     // rows of x are rows of accumulators
  bool dense_y_ = false;
};

}  // namespace oriel::cpu
