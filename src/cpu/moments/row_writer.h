// Rows of folded states become rows of results.
#pragma once

#include "cpu/moments/grid.h"
#include "cpu/moments/rules.h"
#include "cpu/states/joiner.h"

namespace oriel::cpu {

class RowWriter {
 public:
  /// For rows of at most `most` results, in memory of `arena`.
  RowWriter(const Statistic& job, const Grid& grid, const MomentRules& rules, index_t most, Arena& arena);

  /// The outputs of the rows that come next: a range along their axis, and of lanes.
  void begin_rows(Range outputs, Range lanes);
  /// Writes a row of them. `output` says which along the other axes; `offset` is that of output 0 along the row.
  void write(const StateRow& row, const std::array<index_t, kMaxPooledAxes>& output, const OperandSteps& offset);

 private:
  const double* scaled(const double* along, index_t factor, index_t& last, double* room) const;
  void scatter(index_t offset) const;

  const Statistic& job_;
  const Grid& grid_;
  const MomentRules& rules_;
  const LowerTable& kernels_;
  Range outputs_, lanes_;
  index_t n_ = 0;                                // states of a row
  double *taps_along_, *counted_along_;          // along the row: taps that exist, and that S5 counts
  double *taps_, *counted_, *count_, *divisor_;  // of whole windows
  double* room_;
  std::byte* results_;
  index_t last_taps_ = -1, last_counted_ = -1;
};

}  // namespace oriel::cpu
