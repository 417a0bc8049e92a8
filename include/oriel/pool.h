// Pooling: the functions of the library.
#pragma once

#include <string>
#include <vector>

#include "oriel/executor.h"
#include "oriel/problem.h"
#include "oriel/reduce.h"
#include "oriel/tensor.h"

namespace oriel {

struct ForwardOperands;
struct BackwardOperands;
struct UnpoolOperands;
namespace distributed {
struct Operands;
}

namespace detail {

// The first member of operands. No other code can make one, so the other members can only be set by name.
class GivenByName {
  GivenByName() = default;
  friend struct oriel::ForwardOperands;
  friend struct oriel::BackwardOperands;
  friend struct oriel::UnpoolOperands;
  friend struct oriel::distributed::Operands;
};

}  // namespace detail

/// How a call runs; its result does not depend on it. Any number of threads may call at once, also from your program's
/// oneTBB tasks: a thread that waits inside a call runs no other task.
struct Options {
  int threads = 0;         ///< largest number of threads; 0: all that the process may use, or that the executor has
  void* stream = nullptr;  ///< for tensors on a CUDA device: the cudaStream_t; null: the default stream
  const Executor* executor = nullptr;  ///< for tensors on the CPU: runs the call on your threads; null: oneTBB's
};

/// The tensors of `forward`, by name: forward(pool, {.x = x, .y = y}). Pitches are arbitrary. Outputs (y, indices) must
/// not share memory with another tensor or between their own elements. Tensors whose device is Device::cuda are memory
/// of the current CUDA device (cuda.md in share/doc/oriel): the call is queued on options.stream and returns without
/// waiting. All tensors of a call are on one device.
struct ForwardOperands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor x{};   ///< the input
  Tensor y{};        ///< the result: the dtype and shape that result_dtype and output_shape return
  Tensor indices{};  ///< optional, for max, min, first, centre, median and quantile by a selecting method, and mode:
                     ///< the index of each result in x (S10). Of y's shape and dtype i64, or, if they count taps of the
                     ///< window, also u8 (windows of at most 255 taps) or i32. -1, in u8 255, if a window has no tap
  IndexSpace space = IndexSpace::plane;  ///< what indices count
  ConstTensor mask{};  ///< optional (S13): bool or u8, not 0 where x is valid; x's extents along the pooled axes, and
                       ///< x's or 1 along the others. On the CPU only, as weights
  ConstTensor weights{};  ///< optional (S13): f32 or f64, of such a shape; for sum, avg, var, std, rms, median and
                          ///< quantile by inverted_cdf, and mode
};

/// The tensors of `backward`, by name: backward(pool, {.x = x, .dy = dy, .dx = dx}).
struct BackwardOperands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor x{};   ///< the input of forward. Not needed for sum and avg with NaN policy propagate, nor with indices
  ConstTensor dy{};  ///< the gradient of the result
  ConstTensor indices{};                 ///< optional, for max and min: those that forward stored; then x is not needed
  IndexSpace space = IndexSpace::plane;  ///< what indices count
  Tensor dx{};                           ///< the gradient of the input: x's dtype and shape
  ConstTensor mask{};                    ///< as forward had it
  ConstTensor weights{};                 ///< as forward had them
};

/// The tensors of `unpool`, by name: unpool(axes, {.y = y, .indices = indices, .x = x}).
struct UnpoolOperands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor y{};                       ///< a result of pooling
  ConstTensor indices{};                 ///< the index in x of each result, i64
  IndexSpace space = IndexSpace::plane;  ///< what indices count: plane or tensor
  Tensor x{};                            ///< the tensor to fill: y's dtype and rank, the input's shape
};

/// The shape of the result of `pool` on a tensor of shape `shape`. Throws Error as make_problem does.
ORIEL_API Extents output_shape(const Pool& pool, const Extents& shape);

/// y = pool(x), and indices if they are given. Follows S1-S8 (semantics.md in share/doc/oriel). Throws Error.
/// Example: forward({.op = Op::max, .windows = {.kernel = {2}}}, {.x = {x, {4, 4}}, .y = {y, {2, 2}}}); pools all axes.
ORIEL_API void forward(const Pool& pool, const ForwardOperands& operands, const Options& options = {});

/// The same for a problem that make_problem has checked, so that the call need not; x has its dtype and shape. A
/// problem may also be a part of another one, with axes from Axis::slice and their shapes.
ORIEL_API void forward(const Problem& problem, const ForwardOperands& operands, const Options& options = {});

/// dx = the gradient of pool, given dy (S9). If indices are given, they are used (Error for one that is out of range);
/// else max and min recompute the indices from x, and Lp its result. Floating dtypes; max, min and sum take integers
/// too.
ORIEL_API void backward(const Pool& pool, const BackwardOperands& operands, const Options& options = {});
ORIEL_API void backward(const Problem& problem, const BackwardOperands& operands, const Options& options = {});

/// Whether max or min followed by its gradient takes less time in total if forward stores codes (u8 indices, space
/// `window`) and backward uses them than if backward recomputes the extrema from x: on the CPU, with the instruction
/// set in use, for dense tensors in the problem's memory order. False for all other pools.
ORIEL_API bool codes_pay(const Problem& problem);

/// Sets x to zeros, except x[indices[o]] = y[o]: the partial inverse of max pooling with indices. If two outputs have
/// the same index, the later one in row-major order is kept. An index of -1 is skipped; others outside the output's own
/// plane throw Error. `axes` are the pooled axes (empty: all).
ORIEL_API void unpool(const Extents& axes, const UnpoolOperands& operands, const Options& options = {});

namespace detail {

ORIEL_API void forward(const Windows& windows, const ErasedReduction& reduction, const ForwardOperands& operands,
                       const Options& options);

}  // namespace detail

/// y = your reduction R over each window of x (see Reduction in oriel/reduce.h); x and y have the dtypes of its Input
/// and Output, and are on the CPU. Throws Error. Example: forward<Range>({.kernel = {3}}, {.x = x, .y = y}).
template <Reduction R>
void forward(const Windows& windows, const ForwardOperands& operands, const Options& options = {}) {
  detail::forward(windows, detail::erase<R>(), operands, options);
}

/// How the CPU computes a problem, and how many bytes and operations this needs at least.
struct Explanation {
  std::string strategy;    ///< its name, from the tables in src/cpu/strategies.cc
  std::string why;         ///< when it is used
  index_t bytes_read = 0;  ///< if every operand is read once
  index_t bytes_written = 0;
  double combinations = 0;  ///< of two elements, if windows share partial results, axis by axis
  double direct = 0;        ///< the same if every window were reduced on its own
};

/// How a problem is computed on dense tensors in its memory order. Example:
/// explain(parse_problem("max:f32:9:k3")).strategy.
ORIEL_API Explanation explain(const Problem& problem);

/// The version of the library, e.g. `0.2.0`; oriel/version.h has the version of the headers.
ORIEL_API std::string version();

/// The instruction sets that this build contains and this machine can run, best first, e.g. {"AVX3", "AVX2", …}.
ORIEL_API std::vector<std::string> supported_targets();
/// An instruction set and the kernels that this build has for it.
struct InstructionSet {
  std::string name;                  ///< as in supported_targets()
  int vector_bytes = 0;              ///< bytes of the longest vectors; 0: no vectors
  std::vector<std::string> kernels;  ///< some of "rows", "planes", "channels", "masked", "registers", "bytes"
};
/// The sets of supported_targets(). Every set has the kernels "rows"; a set without others runs every problem with
/// them, more slowly.
ORIEL_API std::vector<InstructionSet> instruction_sets();
/// The instruction set in use: the best, or the one that the environment variable ORIEL_TARGET names. Throws Error if
/// that is unknown.
ORIEL_API std::string active_target();
/// Selects an instruction set for later calls (the name in any letter case; empty: the best). Throws Error if it cannot
/// run here.
ORIEL_API void set_target(const std::string& name);
/// The number of threads that a call uses by default. It is 1 in a child process that was forked after calls had used
/// several threads, since a child does not have its parent's threads.
ORIEL_API int default_threads();
/// Whether this build pools tensors on CUDA devices.
ORIEL_API bool has_cuda();

}  // namespace oriel
