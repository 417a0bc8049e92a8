// Pooling. Checks a call, picks a backend, runs it.
#pragma once

#include <string>
#include <vector>

#include "oriel/problem.h"
#include "oriel/reduce.h"
#include "oriel/tensor.h"

namespace oriel {

/// How a call is run; never changes its result. Calls may be made by any number of threads at once, and from tasks of a
/// program's own oneTBB: a thread that waits within a call takes no other task.
struct Options {
  int threads = 0;         ///< threads to use at most; 0: all that the process may use
  void* stream = nullptr;  ///< of tensors on a CUDA device: the cudaStream_t of the call; null: the default one
};

/// The shape of the result of `pool` on a tensor of shape `shape`. Throws Error as make_problem does.
ORIEL_API Extents output_shape(const Pool& pool, const Extents& shape);

/// y = pool(x). `x` may have any pitch; `y` must have x's dtype and the shape output_shape gives, must not share memory
/// with x or between its own elements. Follows docs/semantics.md S1-S8. Throws Error.
/// Tensors whose device is Device::cuda are memory of the current CUDA device (docs/cuda.md): the call is put on
/// options.stream and returns without waiting. All tensors of a call are on one device.
/// Example: oriel::forward({.op = Op::max, .kernel = {2}}, ConstTensor(x, {4, 4}), Tensor(y, {2, 2})); all axes
ORIEL_API void forward(const Pool& pool, const ConstTensor& x, const Tensor& y, const Options& options = {});

/// The same for a problem that make_problem made, which saves a call that work; x has its dtype and shape. Every
/// function below that takes a Pool has this form too. A problem may also be a part of another one: axes sliced by
/// Axis::slice, with the shapes that they leave.
ORIEL_API void forward(const Problem& problem, const ConstTensor& x, const Tensor& y, const Options& options = {});

/// The same for max or min, and where each result came from: `indices` is a tensor of y's shape (S10), i64, or in space
/// window also u8 (windows of at most 255 taps) or i32; -1, in u8 255, where a window has no tap.
ORIEL_API void forward(const Pool& pool, const ConstTensor& x, const Tensor& y, const Tensor& indices,
                       IndexSpace space = IndexSpace::plane, const Options& options = {});
ORIEL_API void forward(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor& indices,
                       IndexSpace space = IndexSpace::plane, const Options& options = {});

/// dx = the gradient of sum, or of an average, given dy (S9). The input itself is not needed. Floating dtypes; for sums
/// integers too.
ORIEL_API void backward(const Pool& pool, const ConstTensor& dy, const Tensor& dx, const Options& options = {});
ORIEL_API void backward(const Problem& problem, const ConstTensor& dy, const Tensor& dx, const Options& options = {});

/// dx = the gradient of any pool, given its input x, and dy. For max and min the places are found again from x; Lp
/// computes its result again. For averages and sums x is not read, unless NaN policy is omit.
ORIEL_API void backward(const Pool& pool, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                        const Options& options = {});
ORIEL_API void backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                        const Options& options = {});

/// dx = the gradient of max or min given the indices that forward stored, in any of its dtypes. Throws Error for an
/// index out of range.
ORIEL_API void backward(const Pool& pool, const ConstTensor& dy, const ConstTensor& indices, IndexSpace space,
                        const Tensor& dx, const Options& options = {});
ORIEL_API void backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& indices, IndexSpace space,
                        const Tensor& dx, const Options& options = {});

/// Whether max or min and then its gradient take less time together where forward stores codes (u8, space `window`) and
/// backward goes by them than where backward finds the extrema again in x: on the CPU, with the instruction set in use,
/// for dense tensors in the problem's memory order. False for all other pools.
ORIEL_API bool codes_pay(const Problem& problem);

/// x = zeros, but x[indices[o]] = y[o]: the partial inverse of max pooling with indices. Where two outputs name one
/// place the later one in row-major order stays. An index of -1 is skipped; others outside the output's own plane throw
/// Error.
/// `axes` are the pooled axes (empty: all).
ORIEL_API void unpool(const ConstTensor& y, const ConstTensor& indices, IndexSpace space, const Extents& axes,
                      const Tensor& x, const Options& options = {});

/// y = pool(x) with a reduction of your own in place of pool.op, which must be Op::sum; `y` may have another dtype than
/// x (the caller vouches that both match the reduction's Input and Output). See row_reduction in oriel/reduce.h.
ORIEL_API void forward(const Pool& pool, const RowReduction& reduction, const ConstTensor& x, const Tensor& y,
                       const Options& options = {});

/// y = pool(x) for a reduction R of your own (see row_reduction). Throws Error, also when a dtype is not R's.
/// Example: oriel::forward<Range>({.op = Op::sum, .kernel = {3}}, x, y);
template <class R>
void forward(const Pool& pool, const ConstTensor& x, const Tensor& y, const Options& options = {}) {
  if (x.dtype != dtype_v<typename R::Input> || y.dtype != dtype_v<typename R::Output>) {
    throw Error("forward: this reduction reads " + std::string(name(dtype_v<typename R::Input>)) + " and writes " +
                std::string(name(dtype_v<typename R::Output>)) + ", but x is " + std::string(name(x.dtype)) +
                " and y is " + std::string(name(y.dtype)));
  }
  forward(pool, row_reduction<R>(), x, y, options);
}

/// How the CPU carries out a problem, and the least that it must move and do.
struct Plan {
  std::string strategy;    ///< the row of src/cpu/strategies.cc that does it
  std::string why;         ///< when that is taken
  index_t bytes_read = 0;  ///< every operand once
  index_t bytes_written = 0;
  double combinations = 0;  ///< of two elements, with folds shared between windows axis by axis
  double direct = 0;        ///< the same if every window were folded for itself
};

/// The plan of a problem on dense tensors in its memory order. Example: plan(parse_problem("max:f32:9:k3")).strategy.
ORIEL_API Plan plan(const Problem& problem);

/// The version of the library, e.g. `0.1.0`; that of the headers is in oriel/version.h.
ORIEL_API std::string version();

/// The instruction sets that this build contains and this machine can run, best first, e.g. {"AVX3", "AVX2", …}.
ORIEL_API std::vector<std::string> supported_targets();
/// The one in use: the best, or what the environment variable ORIEL_TARGET names. Throws Error when that is unknown.
ORIEL_API std::string active_target();
/// Uses that target from now on (the name in any case; empty: the best). Throws Error when it cannot run here.
ORIEL_API void set_target(const std::string& name);
/// Threads that a call uses by default. One in a child that was forked after calls had used several: it has none of
/// them.
ORIEL_API int default_threads();
/// Whether this build pools tensors on CUDA devices.
ORIEL_API bool has_cuda();

}  // namespace oriel
