// Rows of elements become rows of states, wherever their operands lie.
#pragma once

#include "cpu/moments/grid.h"
#include "cpu/moments/rules.h"
#include "cpu/states/across.h"

namespace oriel::cpu {

class RowReader {
 public:
  /// For at most `width` states at a time, in memory of `arena`.
  RowReader(const Statistic& job, const Grid& grid, const MomentRules& rules, const Joiner& joiner, index_t width,
            Arena& arena);

  /// States `states` of a row whose first position has the coordinate `first` along the row's axis; `offset` is that of
  /// coordinate 0. Positions where there is no input, and what is left of a step, become states of no tap.
  void read(const OperandSteps& offset, index_t first, Range states, const StateRow& out) const;

 private:
  const void* gather(const ConstTensor& from, index_t offset, index_t pitch, index_t lane_pitch, Range elements,
                     std::byte* room) const;

  const Statistic& job_;
  const Grid& grid_;
  const MomentRules& rules_;
  const Joiner& joiner_;
  const LiftElements lift_;
  const index_t inputs_;  // along the row
  OperandSteps step_;     // from one position to the next
  std::byte *x_, *mask_ = nullptr, *weights_ = nullptr;
  std::uint32_t* valid_ = nullptr;
};

}  // namespace oriel::cpu
