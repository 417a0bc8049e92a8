// What becomes of folded taps: sums, averages, extrema, counts of any dtype, rounded once (S7, S15).
#pragma once

#include "cpu/valid_blocks/fold_kernels.h"

namespace oriel::cpu {

enum class TapFinish : std::uint8_t { value, average, count, any, all };

struct FinishRow {
  const void* folded = nullptr;
  const void* valid = nullptr;  // numbers of valid taps, as accumulators
  index_t n = 0;
  bool keeps = false;   // what is folded of no tap is a value; else 0 is
  index_t need = 0;     // with fewer valid taps the result is `fill`
  index_t more = 0;     // average: the divisor is the number of valid taps plus this
  index_t divisor = 0;  // average: or this, if not 0
  const void* fill = nullptr;
  void* y = nullptr;
};
using FinishTaps = void (*)(const FinishRow& row);
/// high[i] -= low[i].
using SubtractRow = void (*)(void* high, const void* low, index_t n);

/// The kernel of the instruction set in use; null: there is none.
FinishTaps finish_taps(TapFinish finish, TapLane lane, Dtype result);
SubtractRow subtract_row(TapLane lane);

}  // namespace oriel::cpu
