// The window's options as text, and the pool that they mean.
#pragma once

#include <string>
#include <string_view>

#include "cli/statistic_options.h"
#include "oriel/problem.h"

namespace oriel::cli {

/// The options of `oriel pool` that describe a pool, as typed; empty: not given. Words are among the allowed ones, and
/// options that exclude each other are not given together.
struct WindowOptions {
  std::string op;  // empty: quantile if one is asked for, else max
  std::string nan = "propagate";
  std::string kernel, stride, padding, dilation, output_size, axes, divisor, norm;
  bool ceil = false;
  bool exclude_pad = false;
  bool global = false;
  StatisticOptions statistic;
};

/// Throws Error naming the option, its value and what is allowed.
Pool make_pool(const WindowOptions& options);

/// Whole numbers joined by `separator`, e.g. `3x5` or `-2,-1`. `option` is what an error calls them.
Extents parse_numbers(std::string_view option, std::string_view text, char separator);

/// `pool` on an input: of a picture, height and width if it names no axes.
Pool on_input(const Pool& pool, bool is_picture);
/// The axes that the problem pools, in its order.
Extents pooled_axes(const Problem& problem);
/// The same to read: `axes 0, 1 of 3`.
std::string show_axes(const Problem& problem);

}  // namespace oriel::cli
