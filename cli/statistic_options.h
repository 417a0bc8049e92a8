// The options of `oriel pool` about valid taps, order statistics and footprints, as text.
#pragma once

#include <string>

#include "oriel/problem.h"

namespace oriel::cli {

/// As typed; empty: not given.
struct StatisticOptions {
  std::string quantile, rank, method, ties, ignore, ddof, sharpness, footprint;
  std::string nodata, min_count, min_fraction, fill, result_dtype;
  bool sum = false;
};

/// Sets what was given in `pool`. Throws Error naming the option, its value and what is allowed.
void apply(const StatisticOptions& options, Pool& pool);

}  // namespace oriel::cli
