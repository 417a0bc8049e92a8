// The options of `oriel pool` about valid taps and order statistics, for the parser of command lines.
#pragma once

#include <string>

#include "cli/statistic_options.h"

namespace CLI {
class App;
}

namespace oriel::cli {

/// Adds --quantile, --rank and the like.
void add_statistics(CLI::App& pool, StatisticOptions& options);
/// Adds --mask, --weights, --nodata and the like; `mask` and `weights` are files.
void add_valid_taps(CLI::App& pool, StatisticOptions& options, std::string& mask, std::string& weights);

}  // namespace oriel::cli
