// Pooling: the functions of the library.
#pragma once

#include <string>
#include <vector>

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

// The first member of operands: nobody else can make one, so the others are given by name or not at all.
class GivenByName {
  GivenByName() = default;
  friend struct oriel::ForwardOperands;
  friend struct oriel::BackwardOperands;
  friend struct oriel::UnpoolOperands;
  friend struct oriel::distributed::Operands;
};

}  // namespace detail

/// How a call is run; never changes its result. Calls may be made by any number of threads at once, and from tasks of a
/// program's own oneTBB: a thread that waits within a call takes no other task.
struct Options {
  int threads = 0;         ///< threads to use at most; 0: all that the process may use
  void* stream = nullptr;  ///< of tensors on a CUDA device: the cudaStream_t of the call; null: the default one
};

/// The tensors of `forward`, by name: forward(pool, {.x = x, .y = y}). Any pitches. What is written (y, indices) must
/// not share memory with another tensor or between its own elements. Tensors whose device is Device::cuda are memory of
/// the current CUDA device (docs/cuda.md): the call is put on options.stream and returns without waiting. All tensors
/// of a call are on one device.
struct ForwardOperands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor x{};   ///< the input
  Tensor y{};        ///< the result: x's dtype, the shape that output_shape gives
  Tensor indices{};  ///< optional, of max and min: where each result came from (S10). Of y's shape and i64, or, if they
                     ///< count taps of the window, also u8 (windows of at most 255 taps) or i32. -1, in u8 255, if a
                     ///< window has no tap
  IndexSpace space = IndexSpace::plane;  ///< what indices count
};

/// The tensors of `backward`, by name: backward(pool, {.x = x, .dy = dy, .dx = dx}).
struct BackwardOperands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor x{};   ///< the input of forward. Not needed for sum and avg with NaN policy propagate, nor with indices
  ConstTensor dy{};  ///< the gradient of the result
  ConstTensor indices{};                 ///< optional, of max and min: those that forward stored; then x is not needed
  IndexSpace space = IndexSpace::plane;  ///< what indices count
  Tensor dx{};                           ///< the gradient of the input: x's dtype and shape
};

/// The tensors of `unpool`, by name: unpool(axes, {.y = y, .indices = indices, .x = x}).
struct UnpoolOperands {
  [[no_unique_address]] detail::GivenByName given_by_name{};
  ConstTensor y{};                       ///< a result of pooling
  ConstTensor indices{};                 ///< where each came from, i64
  IndexSpace space = IndexSpace::plane;  ///< what indices count: plane or tensor
  Tensor x{};                            ///< the tensor to fill: y's dtype and rank, the input's shape
};

/// The shape of the result of `pool` on a tensor of shape `shape`. Throws Error as make_problem does.
ORIEL_API Extents output_shape(const Pool& pool, const Extents& shape);

/// y = pool(x), and indices if they are given. Follows docs/semantics.md S1-S8. Throws Error.
/// Example: forward({.op = Op::max, .windows = {.kernel = {2}}}, {.x = {x, {4, 4}}, .y = {y, {2, 2}}}); pools all axes.
ORIEL_API void forward(const Pool& pool, const ForwardOperands& operands, const Options& options = {});

/// The same for a problem that make_problem made, which saves a call that work; x has its dtype and shape. A problem
/// may also be a part of another one: axes sliced by Axis::slice, with the shapes that they leave.
ORIEL_API void forward(const Problem& problem, const ForwardOperands& operands, const Options& options = {});

/// dx = the gradient of pool, given dy (S9). If indices are given, it follows them (Error for one that is out of
/// range); else max and min recompute the places from x, and Lp its result. Floating dtypes; max, min and sum take
/// integers too.
ORIEL_API void backward(const Pool& pool, const BackwardOperands& operands, const Options& options = {});
ORIEL_API void backward(const Problem& problem, const BackwardOperands& operands, const Options& options = {});

/// Whether max or min and then its gradient take less time together if forward stores codes (u8 indices, space
/// `window`) and backward follows them than if backward recomputes the extrema from x: on the CPU, with the instruction
/// set in use, for dense tensors in the problem's memory order. False for all other pools.
ORIEL_API bool codes_pay(const Problem& problem);

/// x = zeros, but x[indices[o]] = y[o]: the partial inverse of max pooling with indices. If two outputs name one place
/// the later one in row-major order stays. An index of -1 is skipped; others outside the output's own plane throw
/// Error. `axes` are the pooled axes (empty: all).
ORIEL_API void unpool(const Extents& axes, const UnpoolOperands& operands, const Options& options = {});

namespace detail {

ORIEL_API void forward(const Windows& windows, const ErasedReduction& reduction, const ForwardOperands& operands,
                       const Options& options);

}  // namespace detail

/// y = the reduction R of your own over each window of x (see Reduction in oriel/reduce.h); x and y have its Input and
/// Output as dtypes, and are on the CPU. Throws Error. Example: forward<Range>({.kernel = {3}}, {.x = x, .y = y}).
template <Reduction R>
void forward(const Windows& windows, const ForwardOperands& operands, const Options& options = {}) {
  detail::forward(windows, detail::erase<R>(), operands, options);
}

/// How the CPU carries out a problem, and the least that it must move and do.
struct Explanation {
  std::string strategy;    ///< the row of src/cpu/strategies.cc that does it
  std::string why;         ///< when that is taken
  index_t bytes_read = 0;  ///< every operand once
  index_t bytes_written = 0;
  double combinations = 0;  ///< of two elements, with folds shared between windows axis by axis
  double direct = 0;        ///< the same if every window were folded for itself
};

/// How a problem on dense tensors in its memory order is carried out. Example:
/// explain(parse_problem("max:f32:9:k3")).strategy.
ORIEL_API Explanation explain(const Problem& problem);

/// The version of the library, e.g. `0.2.0`; that of the headers is in oriel/version.h.
ORIEL_API std::string version();

/// The instruction sets that this build contains and this machine can run, best first, e.g. {"AVX3", "AVX2", …}.
ORIEL_API std::vector<std::string> supported_targets();
/// What the kernels for one of them have.
struct InstructionSet {
  std::string name;                  ///< as supported_targets() has it
  int vector_bytes = 0;              ///< of the longest vectors; 0: no vectors
  std::vector<std::string> kernels;  ///< of "rows", "planes", "channels", "masked", "registers", "bytes"
};
/// Those of supported_targets(). Every set has kernels of rows; one that has no others runs every problem by them,
/// slower.
ORIEL_API std::vector<InstructionSet> instruction_sets();
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
