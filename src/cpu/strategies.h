// Which code runs: five tables, of which the first row that can, and pays, does the job. Read this first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cpu/plan/gradient.h"
#include "cpu/rows/rows.h"
#include "cpu/plan/strategy.h"

namespace oriel::cpu {

std::span<const Strategy<FoldJob>> folds();                // values alone
std::span<const Strategy<FoldJob>> argmax_folds();         // values and indices
std::span<const Strategy<Gradient>> sum_gradients();       // of sums, averages and Lp
std::span<const Strategy<Gradient>> extremum_gradients();  // of maxima and minima, from x
std::span<const Strategy<Gradient>> indexed_gradients();   // of those whose places are known

/// The row that does a job.
const Strategy<FoldJob>& strategy_of(const FoldJob& job);
const Strategy<Gradient>& strategy_of(const Gradient& gradient);

/// From now on rows of these names, with commas between them, do every job that they can, whether it pays or not; no
/// names: none. At first those of the environment variable ORIEL_STRATEGY. Throws Error for a name of no row.
void force_strategies(std::string_view names);
/// How many jobs a forced row was given.
std::int64_t forced_jobs();

}  // namespace oriel::cpu
