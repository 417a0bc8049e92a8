// The taps and divisors of the outputs along one tile of a row, as runs that are alike.
#pragma once

#include "cpu/plan/tiling.h"
#include "reduction.h"

namespace oriel::cpu {

/// What a run says of the taps of its outputs: their number, which is the same for all of them; or, for reductions that
/// only ask whether there is any, the largest of their numbers, or none of all. Then there are fewer runs.
enum class RunTaps : bool { equal, most };

/// Whether lowering asks for taps or divisors.
inline bool asks_for_counts(const RowReduction& how) { return how.lower != nullptr && how.counts; }

/// What lowering a row of such outputs needs; add_axis says more where other axes are pooled.
LowerParams params_of(const RowReduction& how, const RowRun* runs, index_t count);

/// Counts the window of `output` of one more axis.
inline void add_axis(LowerParams& params, const RowReduction& how, const Axis& axis, index_t output) {
  if (!asks_for_counts(how)) return;
  if (!params.fixed_divisor) params.divisor *= axis.divisor(output, how.count_include_pad);
  params.taps *= axis.taps(output).size();
}

class RowCounts {
 public:
  /// Counts anew; `room` is for as many runs as the axis has outputs, and kept.
  void count(const Axis& axis, const RowReduction& how, RunTaps taps, RowRun* room);

  LowerParams params(const RowReduction& how) const { return params_of(how, runs_, number_); }
  /// Of windows across the row that are those of `output` of `across`.
  LowerParams params(const RowReduction& how, const Axis& across, index_t output) const {
    LowerParams p = params(how);
    add_axis(p, how, across, output);
    return p;
  }

  const RowRun* begin() const { return runs_; }
  const RowRun* end() const { return runs_ + number_; }
  bool some_empty() const { return some_empty_; }  // outputs without a tap along the row

 private:
  const RowRun* runs_ = nullptr;
  index_t number_ = 0;
  bool some_empty_ = false;
};

}  // namespace oriel::cpu
