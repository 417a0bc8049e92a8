// What is folded for an op, and what becomes of it.
#pragma once

#include "cpu/plan/statistic.h"
#include "cpu/states/lift_kernels.h"
#include "cpu/states/lower_kernels.h"

namespace oriel::cpu {

struct MomentRules {
  LiftRule lift;
  LowerRule lower;
  bool bounded = true;   // see make_scale
  int count_field = -1;  // whose counts are those of the valid taps; -1: the geometry says how many there are,
  bool counted = false;  // or the states of group 0 do
  bool divides = false;  // an average by the divisor of S5
};

/// Whether there are rules for a job with windows of that many taps.
bool has_moment_rules(const Statistic& job);
/// They are. `even`: states of a row have the same number of taps if all that exist are valid.
MomentRules moment_rules(const Statistic& job, bool even);
/// Those of elements, and of which are valid, and of results that are numbers of f64 in their place.
MomentRules exponential_rules(const Statistic& job);

}  // namespace oriel::cpu
