// The flags of `oriel pyramid`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "cli/statistic_options.h"

namespace oriel::cli {

/// As typed.
struct PyramidTyped {
  PyramidCommand command;
  const CLI::App* app = nullptr;  // which knows the options that were given
  StatisticOptions statistic;
  std::string method, levels = "auto", edge = "partial", source, dtype, memory, deadline, codec, nan = "propagate";
};

void add_pyramid(CLI::App& app, PyramidTyped& typed);
/// Throws Error naming the option, its value and what is allowed.
PyramidCommand finish_pyramid(PyramidTyped& typed);

}  // namespace oriel::cli
