// Windows across rows: each row of outputs is folded from rows of inputs.
#pragma once

#include "cpu/states/joiner.h"
#include "oriel/window.h"

namespace oriel::cpu {

/// Where rows of states come from.
class StateRows {
 public:
  virtual ~StateRows() = default;
  /// The row of an input, in `room` or wherever it lies for as long as rows are asked for.
  virtual StateRow row(index_t input, const StateRow& room) = 0;
};

/// Folds of windows of an axis: sums of 1, 2, 4 ... taps that end at a row are kept for the windows that share them, or
/// the taps of each window are folded anew.
class AcrossFolder {
 public:
  /// For rows of at most `width` states, in memory of `arena`. `lifts`: rows come in the room that is offered. `tree`
  /// may be that of others.
  AcrossFolder(const Axis& axis, Joiner& joiner, index_t width, bool lifts, PartTree& tree, Arena& arena);
  /// The memory that it takes.
  static index_t bytes(const Axis& axis, const Joiner& joiner, index_t width, bool lifts);

  /// The next windows have nothing to do with those before.
  void restart() { running_ = false; }
  /// out = the window of `output` of n states, which have `before` taps each; outputs come in ascending order. Returns
  /// the number of taps of each state then.
  index_t fold(index_t output, index_t before, index_t n, StateRows& rows, const StateRow& out);

 private:
  StateRow& slot(int level, index_t age) const;
  index_t taps_until(index_t coordinate, index_t taps) const;
  void step(index_t coordinate, index_t n, StateRows& rows);
  index_t join_parts(index_t end, index_t n, const StateRow& out) const;
  index_t fold_taps(index_t output, index_t n, StateRows& rows, const StateRow& out);

  const Axis& axis_;
  Joiner& joiner_;
  const bool lifts_;
  bool doubles_ = false, keeps_ = false, running_ = false;
  int levels_ = 0;
  index_t before_ = 1;
  index_t first_ = 0, next_ = 0;     // coordinates: those before `first_` belong to no window, `next_` comes next
  std::array<index_t, 32> slots_{};  // by level
  std::array<index_t, 32> now_{};    // where the last coordinate's is
  std::array<StateRow*, 32> rows_{};
  index_t* inputs_ = nullptr;  // whose the single rows are
  PartTree& tree_;
};

/// Whether sharing sums of powers of two takes fewer joins than folding each window.
bool shares_powers(const Axis& axis);

}  // namespace oriel::cpu
