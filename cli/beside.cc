#include "cli/beside.h"

#include "cli/samples.h"
#include "oriel/tensor.h"

namespace oriel::cli {

Beside make_beside(const Problem& problem, std::uint64_t seed) {
  Beside beside;
  if (problem.mask) beside.mask = make_mask(problem.shape, seed);
  if (!problem.weights) return beside;
  beside.weights = make_weights(problem.shape, seed + 1);
  const auto* const values = static_cast<const float*>(beside.weights.view.data);
  beside.wide_weights.assign(values, values + element_count(problem.shape));
  return beside;
}

reference::Beside Beside::for_reference() const {
  return {.mask = static_cast<const std::uint8_t*>(mask.view.data),
          .weights = wide_weights.empty() ? nullptr : wide_weights.data()};
}

}  // namespace oriel::cli
