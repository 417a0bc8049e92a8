// Which code runs: six tables, of which the first row that can, and pays, does the job. Read this first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/plan/fold.h"
#include "cpu/plan/gradient.h"
#include "cpu/plan/statistic.h"

namespace oriel::cpu {

/// One row of a table of strategies.
template <class Job>
struct Strategy {
  std::string_view name;         // as `oriel explain` and ORIEL_STRATEGY say it
  bool (*can)(const Job& job);   // whether it gives the bits of the table's last row: legality alone
  bool (*pays)(const Job& job);  // whether it is quicker than the rows below; only asked if it can
  void (*run)(const Job& job, int threads);
  std::string_view when;  // one line: when it is taken, and what was measured
};

template <class Job>
bool always(const Job&) {
  return true;
}

std::span<const Strategy<FoldJob>> folds();                // values alone
std::span<const Strategy<FoldJob>> argmax_folds();         // values and indices
std::span<const Strategy<Gradient>> sum_gradients();       // of sums, averages and Lp
std::span<const Strategy<Gradient>> extremum_gradients();  // of maxima and minima, from x
std::span<const Strategy<Gradient>> indexed_gradients();   // of those whose places are known
std::span<const Strategy<Statistic>> statistics();         // pools over valid taps

/// The row that does a job.
const Strategy<FoldJob>& strategy_of(const FoldJob& job);
const Strategy<Gradient>& strategy_of(const Gradient& gradient);
const Strategy<Statistic>& strategy_of(const Statistic& job);

/// From now on rows of these names, with commas between them, do every job that they can, whether it pays or not; no
/// names: none. At first those of the environment variable ORIEL_STRATEGY. Throws Error for a name of no row.
void force_strategies(std::string_view names);
/// How many jobs a forced row was given.
std::int64_t forced_jobs();

}  // namespace oriel::cpu
