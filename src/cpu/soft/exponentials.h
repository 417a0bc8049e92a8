// Rows of exponentials of taps about the largest of their windows, per instruction set.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// One tap of each of n windows.
struct TapRow {
  const double* x = nullptr;
  const std::uint32_t* valid = nullptr;  // 0 or 1
  index_t n = 0;
};

struct ExponentialTable {
  /// largest[i] = the larger of it and a valid x, NaN if one is; count[i] grows by a valid one.
  void (*find_largest)(const TapRow& tap, double* largest, std::uint32_t* count) = nullptr;
  /// sum[i] = exp(r (x - largest)), weighted[i] = x times that; -0 of what is not valid. `weighted` may be null.
  void (*exponentials)(const TapRow& tap, const double* largest, double r, double* sum, double* weighted) = nullptr;
};

/// Rows have room for n rounded up to kRowStep.
const ExponentialTable& exponential_rows();

}  // namespace oriel::cpu
