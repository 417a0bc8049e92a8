// The kernels of running sums: integers are summed exactly in any order, so a window's sum is the one before it, plus
// what enters, minus what leaves. Two operations per element along each axis, whatever the window.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// Rows of n elements that columns of sums gain and lose.
struct RunningRows {
  const void* const* entering = nullptr;
  index_t entering_count = 0;
  const void* const* leaving = nullptr;
  index_t leaving_count = 0;
  index_t n = 0;
  void* columns = nullptr;  // accumulators
};

/// Windows along a row of columns, at every place: tap t of window i is column start + i + t * move.
struct RunningWindows {
  const void* columns = nullptr;  // accumulators of n places, zeros where no input is
  index_t n = 0;
  index_t start = 0;
  index_t kernel = 1;
  index_t move = 1;
  index_t windows = 1;
  void* sums = nullptr;  // scratch of n places; zeros at the move - start places before it
  void* out = nullptr;   // accumulators
};

struct RunningKernels {
  void (*gain)(const RunningRows& rows) = nullptr;
  void (*slide)(const RunningWindows& windows) = nullptr;
};

/// Accumulators beyond the last one that slide reads and writes.
inline constexpr index_t kRunningSlack = 16;

struct RunningTable {
  RunningKernels (*sums)(Dtype dtype, index_t value_bytes) = nullptr;  // null members where there is no kernel
};

const RunningTable& running_table();  // of the instruction set in use

}  // namespace oriel::cpu
