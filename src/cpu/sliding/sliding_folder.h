// One thread's part of a fold over long windows: a block of rows of outputs at a time, first across rows, then along
// them.
#pragma once

#include "cpu/plan/counts.h"
#include "cpu/plan/fold.h"
#include "cpu/rows/careful_rows.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/strided_copy.h"
#include "cpu/sliding/sliding_kernels.h"

namespace oriel::cpu {

/// The two axes of such a fold; either may be missing, and then is one window of one tap.
struct LongAxes {
  explicit LongAxes(const RowLayout& layout);

  Axis across;
  Pitches across_pitch{};
  Axis along;
  Pitches along_pitch{};
  int across_number = -1;  // among the pooled axes
};

/// Whether rows of x are folded along where they lie, but for tiles with padding: nothing is folded across, lifted or
/// looked at for special values.
bool folds_in_place(const FoldJob& job, const LongAxes& axes);

LongKernels long_kernels(const Problem& problem, const RowReduction& plain);

class LongFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives.
  LongFolder(const FoldJob& job, const Tiling& tiling, Arena& arena);

  void fold(index_t plane, index_t tile, Range rows, CarefulRows& careful);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  struct Lifted {
    index_t input = -1;
    bool special = false;
  };

  void set_tile(index_t number);
  index_t block_outputs() const;
  bool gather(index_t first_place, index_t from, index_t count);
  const void* lifted_row(index_t input, bool& special);
  void fold_class(Range rows, index_t first, CarefulRows& careful);
  std::byte* folded_row(index_t i) const { return folded_ + i * row_bytes_ + before_bytes_; }
  void fold_along(const std::byte* row, index_t output);
  bool sums_into_y(index_t output, LongRow& row);
  void finish(const void* row, index_t output) const;

  const FoldJob& job_;
  const RowReduction& how_;
  const Tiling& tiling_;
  const StridedCopy copy_ = strided_copy();
  const LongAxes axes_;
  const LongKernels kernels_;
  const bool sum_;
  const bool dense_y_;
  const bool direct_;  // the last fold writes y itself
  const bool lifts_;   // rows of x are copied or lifted before they are folded
  const bool in_place_;
  const bool mends_;     // special values do not keep a fold from its end
  const index_t block_;  // windows across rows that one call takes
  index_t row_bytes_;    // of rows that are folded across
  index_t before_bytes_;
  std::byte* identity_ = nullptr;
  std::byte* folded_ = nullptr;
  std::byte* lifted_ = nullptr;
  Lifted* lifted_key_ = nullptr;
  index_t lifted_slots_ = 0;
  std::byte* result_ = nullptr;
  std::byte* picked_ = nullptr;  // the results that there are windows for
  void* across_scratch_ = nullptr;
  void* along_scratch_ = nullptr;
  const void** rows_ = nullptr;
  void** out_ = nullptr;
  RowRun* runs_ = nullptr;
  RowCounts counts_;
  LongQuotient* quotients_ = nullptr;

  RowTile tile_;
  index_t tile_number_ = -1;
  index_t plane_ = 0;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
};

}  // namespace oriel::cpu
