// The CPU backend, as src/pool.cc sees it. Everything here trusts its arguments, which are checked there.
#pragma once

#include <string_view>

#include "cpu/plan/engine.h"
#include "cpu/plan/statistic.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// What is going to happen to a problem on dense tensors in its memory order.
struct Choice {
  std::string_view strategy;  // a row of strategies.cc
  std::string_view why;
  double combinations = 0;  // of two accumulators
};
Choice choice_for(const Problem& problem);

/// y = the pool of x with a user's reduction.
void run_user(const Problem& problem, const detail::ErasedReduction& reduction, const ConstTensor& x, const Tensor& y,
              int threads);

/// See oriel::codes_pay.
bool codes_pay(const Problem& problem);

/// dx = the gradient of a sum, an average or Lp; `x` may be null where the pool does not need it.
void run_sum_backward(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                      int threads);

/// dx = the gradient of an extremum, whose positions are recomputed from x.
void run_extremum_backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                           int threads);

/// dx = the gradient of an extremum whose places are `index` (i64, or codes of u8 or i32). Throws Error for one outside
/// its window.
void run_indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                          const Tensor& dx, int threads);

/// The first place, counted in row-major order, of a weight that is not finite, or, for ranks and modes, negative; -1:
/// none.
index_t first_bad_weight(const ConstTensor& weights, const Pool& pool);
/// A pool over valid taps, and its gradient.
void run_statistic(const Statistic& job, int threads);
void run_statistic_backward(const StatisticGradient& job, int threads);

/// x = zeros, then x[index[o]] = y[o] in row-major order of outputs. Throws Error for an index out of range.
void run_unpool(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                const Tensor& x, int threads);

}  // namespace oriel::cpu
