// What a pool asks of the kernels that take every reduction.
#pragma once

#include "cuda/gather.cuh"

namespace oriel::cuda {

inline ExtremumRule extremum_rule(const Problem& p) {
  return {p.pool.op == Op::max   ? Extremum::max
          : p.pool.op == Op::min ? Extremum::min
                                 : Extremum::magnitude,
          p.pool.nan == NanPolicy::omit};
}

inline SumRule sum_rule(const Problem& p) {
  SumRule rule;
  if (p.pool.op == Op::lp) {
    rule.lower = Lower::root;
    rule.lift = p.pool.norm == 1 ? Lift::magnitude : p.pool.norm == 2 ? Lift::square : Lift::power;
  } else if (p.pool.op == Op::avg) {
    rule.lower = Lower::average;
  }
  rule.omit = p.pool.nan == NanPolicy::omit && is_floating(p.dtype);
  rule.count_include_pad = p.pool.count_include_pad;
  rule.divisor = p.pool.divisor;
  rule.norm = p.pool.norm;
  return rule;
}

}  // namespace oriel::cuda
