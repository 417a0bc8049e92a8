// Means and sums from exact sums.
#pragma once

#include <vector>

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::detail {

/// What a sum becomes.
struct Lowering {
  bool divide = true;             ///< a mean; else the sum itself, saturated
  std::vector<std::byte> fill{};  ///< an element of the result, for too few valid elements
  index_t min_count = 0;
  double min_fraction = 0;
};

/// y = the means or sums of windows. `sums` is i32, i64 or f64, dense; `counts`, if given, are the numbers of valid
/// elements, i64, dense; `taps` are, for each axis, the elements along it that each window holds.
void lower(const Lowering& how, const ConstTensor& sums, const ConstTensor& counts,
           const std::vector<std::vector<index_t>>& taps, const Tensor& y);

}  // namespace oriel::detail
