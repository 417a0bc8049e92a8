// A pool over valid taps (S13-S20) to be computed.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// One such pool of x into y. Mask and weights have x's shape; along an axis where theirs was 1 their pitch is 0.
struct Statistic {
  const Problem& problem;
  ConstTensor x;
  Tensor y;                              // dtype problem.result, shape problem.output_shape: quantiles first
  const ConstTensor* mask = nullptr;     // bool or u8
  const ConstTensor* weights = nullptr;  // f32 or f64
  const Tensor* index = nullptr;         // i64, or codes of u8 or i32
  IndexSpace space = IndexSpace::plane;

  /// Whether every tap that exists and that the footprint has is valid, but for NaN that are left out.
  bool plain() const { return mask == nullptr && weights == nullptr && !problem.pool.nodata; }
  /// Whether NaN taps of x are left out.
  bool omits() const { return problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype); }
};

/// The gradient of such a pool: dx of dy.
struct StatisticGradient {
  const Problem& problem;
  ConstTensor x;
  ConstTensor dy;
  Tensor dx;
  const ConstTensor* mask = nullptr;
  const ConstTensor* weights = nullptr;
};

}  // namespace oriel::cpu
