// The kernels that a problem may take, each behind a host function that launches it or says that it does not fit.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cuda {

enum class IndexKind : signed char;

/// A forward call. `index` may be null; `y` may hold null data when only the codes of an extremum are wanted.
struct Forward {
  const Problem& problem;
  const ConstTensor& x;
  const Tensor& y;
  const Tensor* index;
  IndexKind kind;  // of `index`
  void* stream;
  bool ask_only = false;  // nothing is launched: would the kernel take it?
};

/// A max, a min, or Lp of p = infinity.
bool is_extremum(const Problem& problem);
/// Whether a count fits the 32-bit arithmetic of kernels.
inline bool is_small(index_t count) { return count < (index_t{1} << 31); }

/// False where the call does not fit the kernel: then nothing has been done.
bool strip_forward(const Forward& call);
bool lanes_forward(const Forward& call);
/// Of small windows.
bool direct_forward(const Forward& call);
/// Of windows that share inputs.
bool stream_forward(const Forward& call);
bool lane_columns_forward(const Forward& call);
bool staged_forward(const Forward& call);
/// Of windows that stand apart, too.
bool stream_any_forward(const Forward& call);
/// Of sums and averages.
bool lane_columns_gradient(const Problem& problem, const ConstTensor& dy, const Tensor& dx, void* stream);
bool staged_gradient(const Problem& problem, const ConstTensor& dy, const Tensor& dx, void* stream);
/// `x` may be null for sums and averages.
bool apart_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                    void* stream);
bool overlap_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                      void* stream);
/// Of extrema.
bool lane_apart_gradient(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                         void* stream);
/// `code`: the one-byte codes of extrema, or null for sums and averages.
bool lane_gradient(const Problem& problem, const ConstTensor* code, const ConstTensor& dy, const Tensor& dx,
                   void* stream);
/// Of max and min.
bool chosen_gradient(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexKind kind,
                     const Tensor& dx, void* stream);
/// Each of these takes any problem.
bool gather_forward(const Forward& call);
void collect_sum_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                          void* stream);
void collect_chosen_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy,
                             const ConstTensor& index, IndexKind kind, const Tensor& dx, void* stream);

}  // namespace oriel::cuda
