// Windows that step by one, in the tree of S8 by doubling: of k taps, only log k are added for each window.
#pragma once

#include "cpu/recipe/pairwise_rows.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

class DoubledRows {
 public:
  /// `repeats`: a tap that is folded twice changes nothing.
  DoubledRows(const RowReduction& how, bool repeats) : how_(how), repeats_(repeats) {}

  /// Makes room for windows of at most `kernel` taps, `move` elements apart, at n elements, in memory of `arena`, which
  /// must not be reset while this lives.
  void make(index_t kernel, index_t move, index_t n, Arena& arena);

  /// out[i] = first[i] + first[i + move] + …, `kernel` taps of a row, for i < n. The code of a tap is first.step more
  /// than that of the one before.
  void fold(RowIn first, index_t kernel, index_t move, index_t n, RowOut out) const;

 private:
  RowIn doubled(index_t taps) const {
    const RowOut& room = rooms_[floor_log2(taps)];
    return {room.value, room.extra, 0};
  }
  void fold_few(const RowIn& first, index_t taps, index_t move, index_t n, index_t radix, RowOut out) const;
  void double_taps(const RowIn& first, index_t kernel, index_t move, index_t n, index_t radix) const;

  const RowReduction& how_;
  const bool repeats_;
  RowOut* rooms_ = nullptr;  // for folds of 2^i taps at every place
};

}  // namespace oriel::cpu
