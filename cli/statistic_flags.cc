#include "cli/statistic_flags.h"

#include <CLI/CLI.hpp>

#include "cli/names.h"

namespace oriel::cli {

void add_valid_taps(CLI::App& pool, StatisticOptions& s, std::string& mask, std::string& weights) {
  const char* const group = "Valid taps";
  pool.add_option("--mask", mask, "array of IN's shape (bool or u8): elements where it is 0 are left out")
      ->type_name("FILE")
      ->group(group);
  pool.add_option("--weights", weights, "array of IN's shape (f32 or f64) that weights the elements")
      ->type_name("FILE")
      ->group(group);
  pool.add_option("--nodata", s.nodata, "elements of this value are left out")->type_name("N")->group(group);
  pool.add_option("--min-count", s.min_count, "with fewer valid elements in a window the result is --fill")
      ->type_name("N")
      ->group(group);
  pool.add_option("--min-fraction", s.min_fraction, "the same as a share of the elements that exist, 0 to 1")
      ->type_name("P")
      ->group(group);
  pool.add_option("--fill", s.fill, "result of such windows (default: --nodata, else NaN, of integers 0)")
      ->type_name("N")
      ->group(group);
  pool.add_option("--footprint", s.footprint,
                  "shape of the window: disk:5, ball:2, diamond:1, octagon:3x2, line:9x45 or 010,111,010")
      ->type_name("SHAPE")
      ->group(group);
}

void add_statistics(CLI::App& pool, StatisticOptions& s) {
  const char* const group = "Values";
  pool.add_option("--quantile", s.quantile, "--op quantile: 0 to 1, or several as in 0.25,0.75")
      ->type_name("Q[,Q...]")
      ->group(group);
  pool.add_option("--rank", s.rank, "--op quantile: place among the sorted elements; negative: from the largest")
      ->type_name("N")
      ->group(group);
  pool.add_option("--method", s.method, "which element a median or quantile is if it lies between two (default: lower)")
      ->check(CLI::IsMember({"lower", "higher", "nearest", "midpoint", "linear", "inverted_cdf", "scipy"}))
      ->type_name("METHOD")
      ->group(group);
  pool.add_option("--ties", s.ties, "of --op mode: which of several most frequent values (default: lowest)")
      ->check(CLI::IsMember({"lowest", "highest", "first"}))
      ->type_name("RULE")
      ->group(group);
  pool.add_option("--ignore", s.ignore, "of --op mode: value that wins only where there is no other")
      ->type_name("N")
      ->group(group);
  pool.add_option("--ddof", s.ddof, "of --op var and std: subtracted from the divisor (default: 0)")
      ->type_name("N")
      ->group(group);
  pool.add_option("--sharpness", s.sharpness, "of --op lse: r > 0 (default: 1)")->type_name("R")->group(group);
  pool.add_flag("--sum", s.sum, "of --op lse: of the sum of the exponentials, not of their mean")->group(group);
  pool.add_option("--result-dtype", s.result_dtype, "dtype of OUT, e.g. f64 for means of integers")
      ->check(CLI::IsMember(dtype_names()))
      ->type_name("DTYPE")
      ->group(group);
}

}  // namespace oriel::cli
