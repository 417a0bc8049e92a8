// Which kernels carry out a pool: the lane type, the lift, the fold and the lowering of a problem.
#pragma once

#include "cpu/element/kinds.h"
#include "cpu/exact/exact_kernels.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// The lane that holds an element as it is; ordered keys of f16 and bf16.
Lane native_lane(Dtype dtype);

/// The fast way. For floating max and min, and for NaN policy omit, its `scan` says which rows it must not be used on.
RowReduction plain_recipe(const Problem& problem);
/// The exact way for any row: extrema with tap codes (S3, S4), sums that count what they leave out.
RowReduction careful_recipe(const Problem& problem);
/// The exact way for values alone: extrema without codes, whose axes are folded from the last on where `any_order` is
/// not set; sums as above. With Nan::absent only of inputs that hold none, or with policy omit.
RowReduction exact_recipe(const Problem& problem, Nan nan);
/// A maximum, a minimum or a greatest magnitude (Lp with p = inf).
bool finds_extrema(const Problem& problem);
/// A maximum, a minimum or a greatest magnitude of floats: what has NaN and zeros of two signs.
bool is_floating_extremum(const Problem& problem);
/// Whether an exact recipe holds only of taps in scan order.
inline bool in_scan_order(const RowReduction& exact) { return !exact.any_order && exact.extra_bytes == 0; }
/// The fold of a backward sum: accumulators in, gradients of `dtype` out.
RowReduction gradient_recipe(Dtype dtype);
/// A reduction of a user's, which must outlive the recipe.
RowReduction user_recipe(const detail::ErasedReduction& user);
/// The Dtype of the accumulators that gradient_recipe reads.
Dtype gradient_dtype(Dtype dtype);

}  // namespace oriel::cpu
