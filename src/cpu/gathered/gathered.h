// Any pool over valid taps, window by window: the valid taps are gathered, then reduced. It defines the bits.
#pragma once

#include "cpu/plan/statistic.h"

namespace oriel::cpu {

void run_gathered(const Statistic& job, int threads);

/// The first place, in row-major order, of a weight that is not finite or, for ranks and modes, negative; -1: none.
index_t find_bad_weight(const ConstTensor& weights, const Pool& pool);

}  // namespace oriel::cpu
