// The taps and divisors of the outputs along one tile of a row, as runs that are alike.
#pragma once

#include "cpu/plan/tiling.h"
#include "oriel/reduce.h"

namespace oriel::cpu {

class RowCounts {
 public:
  /// Counts anew; `room` is for as many runs as the tile has outputs, and kept. A run's taps are the most of its
  /// outputs, or none of all.
  void count(const RowTile& tile, const RowReduction& how, RowRun* room);

  /// What lowering a row of the tile's outputs needs, whose windows across it are those of `output` of `across`.
  LowerParams params(const RowReduction& how, const Axis& across, index_t output) const;

  const RowRun* begin() const { return runs_; }
  const RowRun* end() const { return runs_ + number_; }
  bool some_empty() const { return some_empty_; }  // outputs without a tap along the row

 private:
  const RowRun* runs_ = nullptr;
  int number_ = 0;
  bool some_empty_ = false;
};

}  // namespace oriel::cpu
