// The CUDA backend, as src/pool.cc sees it: the functions of cpu/run.h on device memory, put on a stream. Nothing waits
// for the device. Everything but where pointers lead has been checked.
#pragma once

#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cuda {

/// Whether this build has the backend.
bool built();

/// Throws Error when `data` is not memory of the current device, or not aligned to elements of that dtype; the text
/// begins with `what`, as `max_pool: x`. Null is allowed.
void check_pointer(const std::string& what, const void* data, Dtype dtype);

/// y = the pool of x; where `index` is not null, also where each extremum came from.
void run(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space,
         void* stream);

/// dx = the gradient of a sum, an average or Lp; `x` may be null where the pool does not need it.
void run_sum_backward(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                      void* stream);

/// dx = the gradient of an extremum, whose positions are recomputed from x.
void run_extremum_backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                           void* stream);

/// dx = the gradient of an extremum whose places are `index`. An index outside its window counts for nothing: the
/// device cannot report it without waiting.
void run_indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                          const Tensor& dx, void* stream);

/// x = zeros, then x[index[o]] = y[o], the last of several. An index out of range counts for nothing.
void run_unpool(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                const Tensor& x, void* stream);

/// The kernel that a problem takes, as docs/cuda.md names it: for tests and reports.
const char* kernel_of(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index);

}  // namespace oriel::cuda
