// The functions of the library: every error of a caller is found here; below, nothing can fail for it.
#include "oriel/pool.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "cpu/run.h"
#include "cpu/runtime/executor.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/targets.h"
#include "cuda/run.h"
#include "oriel/version.h"
#include "resolve.h"
#include "statistic_rules.h"
#include "tensor.h"
#include "text.h"

namespace oriel {
namespace {

// Which function fails, in two parts: they are joined for an error only, since most calls have none.
struct Caller {
  std::string_view name;
  std::string_view rest;

  std::string text() const { return fmt::format("{}{}", name, rest); }
};

constexpr std::string_view kBackward = " backward";

Caller caller_of(const Pool& pool, std::string_view rest = {}) { return {detail::function_of(pool.op), rest}; }

[[noreturn]] void fail(Caller what, std::string argument, std::string allowed, std::string value = {}) {
  throw Error(Error::Fields{.function = what.text(),
                            .argument = std::move(argument),
                            .allowed = std::move(allowed),
                            .value = std::move(value)});
}

// A tensor of the call that has been checked, under the name that texts give it.
struct Argument {
  const char* name;
  const void* data;
  Device device;
  ByteSpan span;
};

// What every tensor must be: laid out as it says, on a device that this build serves.
Argument check_tensor(Caller what, const char* argument, const ConstTensor& t) {
  if (!t.given()) fail(what, argument, "must be given");
  if (t.pitch.size() != t.shape.size()) {
    fail(what, argument, "must have one pitch per axis",
         fmt::format("has {} for {} axes", t.pitch.size(), t.shape.size()));
  }
  for (int d = 0; d < t.rank(); ++d) {
    if (t.shape[d] < 0) fail(what, argument, "must have extents >= 0", fmt::format("axis {} has {}", d, t.shape[d]));
  }
  if (t.device == Device::cuda) cuda::check_pointer(fmt::format("{}: {}", what.text(), argument), t.data, t.dtype);
  if (t.data == nullptr && element_count(t.shape) != 0) {
    fail(what, argument, fmt::format("must point to its {} elements", element_count(t.shape)), "its data is null");
  }
  return {argument, t.data, t.device, byte_span(t)};  // throws if an offset would not fit index_t
}

// A tensor that has been checked must also be like another one.
void check_like(Caller what, const char* argument, const ConstTensor& t, Dtype dtype, const Extents& shape) {
  if (t.dtype != dtype) {
    fail(what, argument, fmt::format("must have dtype {}", name(dtype)), fmt::format("has {}", name(t.dtype)));
  }
  if (!(t.shape == shape)) {
    fail(what, argument, "must have shape " + to_string(shape), "has " + to_string(t.shape));
  }
}

Argument check_same(Caller what, const char* argument, const ConstTensor& t, Dtype dtype, const Extents& shape) {
  const Argument checked = check_tensor(what, argument, t);
  check_like(what, argument, t, dtype, shape);
  return checked;
}

void check_writable(Caller what, const char* argument, const ConstTensor& t) {
  if (detail::elements_overlap(t)) {
    fail(what, argument, "is written, so its elements must not share memory",
         fmt::format("its pitches {} make them", to_string(t.pitch)));
  }
}

Argument check_output(Caller what, const char* argument, const ConstTensor& t, Dtype dtype, const Extents& shape) {
  const Argument checked = check_same(what, argument, t, dtype, shape);
  check_writable(what, argument, t);
  return checked;
}

// Two tensors of a call: on one device, apart in memory.
void check_apart(Caller what, const Argument& a, const Argument& b) {
  const auto both = [&] { return fmt::format("{} and {}", a.name, b.name); };
  if (a.device != b.device) {
    const auto place = [](const Argument& t) { return t.device == Device::cpu ? "the CPU" : "a CUDA device"; };
    fail(what, both(), "must be on the same device", fmt::format("are on {} and {}", place(a), place(b)));
  }
  if (may_overlap(a.data, a.span, b.data, b.span)) fail(what, both(), "must not share memory", "they overlap");
}

void check_options(Caller what, const Options& options) {
  if (options.threads < 0) fail(what, "threads", "must be >= 0 (0: all)", fmt::format("is {}", options.threads));
  if (options.executor == nullptr) return;
  const Executor& executor = *options.executor;
  if (executor.threads < 1)
    fail(what, "executor", "must have at least 1 thread", fmt::format("has {}", executor.threads));
  if (executor.run == nullptr) fail(what, "executor", "must have a function run", "has none");
}

bool is_extremum(const Pool& pool) {
  return pool.op == Op::max || pool.op == Op::min || (pool.op == Op::lp && std::isinf(pool.norm));
}

void check_indexed(Caller what, const Pool& pool) {
  if (detail::selects_tap(pool)) return;
  if (pool.op == Op::median || pool.op == Op::quantile)
    fail(what, "indices", "exist for methods that select a tap only, not midpoint and linear");
  fail(what, "indices", "exist for max, min, first, centre, median, quantile and mode only",
       fmt::format("op is {}", name(pool.op)));
}

// The dtypes that indices may have (S10).
Argument check_indices(Caller what, const ConstTensor& t, IndexSpace space, const Problem& problem) {
  if (t.dtype != Dtype::i64) {
    if (t.dtype != Dtype::u8 && t.dtype != Dtype::i32) {
      fail(what, "indices", "must have dtype i64 (in space window also u8 or i32)",
           fmt::format("has {}", name(t.dtype)));
    }
    if (space != IndexSpace::window) {
      fail(what, "indices", fmt::format("of dtype {} count taps of the window", name(t.dtype)),
           fmt::format("space is {}; allowed there: i64", space == IndexSpace::plane ? "plane" : "tensor"));
    }
    const index_t most = t.dtype == Dtype::u8 ? kMostByteCodes : highest_value<std::int32_t>();
    if (problem.taps() > most) {
      fail(what, "indices", fmt::format("of dtype {} count windows of at most {} taps", name(t.dtype), most),
           fmt::format("these have {}", problem.taps()));
    }
  }
  return check_same(what, "indices", t, t.dtype, problem.output_shape);
}

[[noreturn]] void fail_on_cuda(Caller what) {
  fail(what, "this pool",
       "is computed on the CPU only: max, min, avg, sum and lp without a mask, weights, nodata, "
       "min_count, fill, footprint or dtype run on CUDA devices",
       "x is on a CUDA device");
}

// An operand beside x, of x's extents along the pooled axes and of x's or 1 along the others, as a view of x's shape.
ConstTensor check_beside(Caller what, const char* argument, const ConstTensor& t, const Problem& problem,
                         const Argument& x) {
  const Argument checked = check_tensor(what, argument, t);
  if (t.rank() != problem.shape.size())
    fail(what, argument, fmt::format("must have the rank of x, {}", problem.shape.size()),
         fmt::format("has {}", t.rank()));
  ConstTensor view = t;
  for (int d = 0; d < t.rank(); ++d) {
    if (t.shape[d] == problem.shape[d]) continue;
    const auto pooled = std::span(problem.axes).first(static_cast<std::size_t>(problem.pooled));
    const bool free = std::find(pooled.begin(), pooled.end(), d) == pooled.end();
    if (t.shape[d] != 1 || !free) {
      fail(what, argument, fmt::format("must have {} along axis {}, as x", problem.shape[d], d),
           fmt::format("has {}{}", t.shape[d], free ? "; allowed is also 1" : ""));
    }
    view.shape[d] = problem.shape[d];
    view.pitch[d] = 0;
  }
  if (checked.device != x.device) fail(what, fmt::format("x and {}", argument), "must be on the same device");
  if (checked.device == Device::cuda) fail(what, argument, "must be on the CPU", "is on a CUDA device");
  return view;
}

bool has_padding(const Windows& windows) {
  const auto padded = [](const Extents& pad) {
    return std::any_of(pad.begin(), pad.end(), [](index_t n) { return n > 0; });
  };
  return windows.padding != Padding::given || padded(windows.pad_lo) || padded(windows.pad_hi);
}

// Mask and weights of a call.
struct Beside {
  std::optional<ConstTensor> mask, weights;

  const ConstTensor* mask_view() const { return mask ? &*mask : nullptr; }
  const ConstTensor* weights_view() const { return weights ? &*weights : nullptr; }
  bool any() const { return mask || weights; }
};

Beside check_beside(Caller what, const Problem& problem, const ConstTensor& mask, const ConstTensor& weights,
                    const Argument& x) {
  const Pool& pool = problem.pool;
  Beside beside;
  if (mask.given()) {
    if (mask.dtype != Dtype::boolean && mask.dtype != Dtype::u8)
      fail(what, "mask", "must have dtype bool or u8", fmt::format("has {}", name(mask.dtype)));
    if (pool.rank) fail(what, "rank", "needs windows whose taps are all valid; use q", "a mask is given");
    beside.mask = check_beside(what, "mask", mask, problem, x);
  }
  if (weights.given()) {
    if (weights.dtype != Dtype::f32 && weights.dtype != Dtype::f64)
      fail(what, "weights", "must have dtype f32 or f64", fmt::format("has {}", name(weights.dtype)));
    if (!detail::has_weights(pool)) {
      fail(what, "weights",
           "are for sum, avg, var, std, rms, mode, and median and quantile with method inverted_cdf only",
           fmt::format("op is {}", name(pool.op)));
    }
    if (pool.op == Op::avg && pool.divisor != 0)
      fail(what, "weights", "need no divisor", fmt::format("it is {}", pool.divisor));
    if (pool.op == Op::avg && pool.count_include_pad && has_padding(pool.windows))
      fail(what, "weights", "need count_include_pad to be false if there is padding");
    if (pool.ddof != 0) fail(what, "weights", "need ddof to be 0", fmt::format("it is {}", pool.ddof));
    beside.weights = check_beside(what, "weights", weights, problem, x);
    if (const index_t bad = cpu::first_bad_weight(*beside.weights, pool); bad >= 0) {
      const bool sign = detail::family_of(pool.op) == detail::Family::rank || pool.op == Op::mode;
      std::string place;
      index_t rest = bad;
      for (int d = problem.shape.size() - 1; d >= 0; --d) {
        place.insert(0, fmt::format("{}{}", d > 0 ? ", " : "", rest % problem.shape[d]));
        rest /= problem.shape[d];
      }
      fail(what, "weights", sign ? "must be finite and >= 0" : "must be finite",
           fmt::format("that at ({}) is not", place));
    }
  }
  return beside;
}

// What is left of a forward call once its problem is known and x is checked.
void run_forward(Caller what, const Problem& problem, const Argument& x, const ForwardOperands& o,
                 const Options& options) {
  const Argument y = check_output(what, "y", o.y, problem.result, problem.output_shape);
  check_apart(what, x, y);
  const Tensor* indices = nullptr;
  if (o.indices.given()) {
    const Argument argument = check_indices(what, o.indices, o.space, problem);
    check_writable(what, "indices", o.indices);
    check_apart(what, x, argument);
    check_apart(what, y, argument);
    indices = &o.indices;
  }
  check_options(what, options);
  const bool beside_given = o.mask.given() || o.weights.given();
  if (beside_given || problem.has_valid_taps() || (indices != nullptr && problem.pool.op > Op::min)) {
    if (x.device == Device::cuda) fail_on_cuda(what);
    const Beside beside = check_beside(what, problem, o.mask, o.weights, x);
    for (const auto& [name, view] : {std::pair("mask", &o.mask), std::pair("weights", &o.weights)}) {
      if (!view->given()) continue;
      const Argument argument{name, view->data, view->device, byte_span(*view)};
      check_apart(what, argument, y);
      if (indices != nullptr)
        check_apart(what, argument, {"indices", indices->data, indices->device, byte_span(*indices)});
    }
    const cpu::ExecutorScope scope(options.executor);
    return cpu::run_statistic({.problem = problem,
                               .x = o.x,
                               .y = o.y,
                               .mask = beside.mask_view(),
                               .weights = beside.weights_view(),
                               .index = indices,
                               .space = o.space},
                              options.threads);
  }
  if (x.device == Device::cuda) return cuda::run(problem, o.x, o.y, indices, o.space, options.stream);
  const cpu::ExecutorScope scope(options.executor);
  cpu::run(problem, o.x, o.y, indices, o.space, options.threads);
}

// How a gradient is computed, by what was given.
enum class Source { indices, x, dy, statistic };

// Gradients of pools over valid taps: by indices as any other, else from x.
bool needs_valid_taps(const Pool& pool, const BackwardOperands& o) {
  return o.mask.given() || o.weights.given() || pool.op > Op::lp || !pool.footprint.empty() || pool.nodata ||
         pool.min_count != 0 || pool.min_fraction != 0 || pool.fill || pool.result_dtype;
}

std::string name_of_gradient(const Pool& pool) { return fmt::format("a gradient of {}", name(pool.op)); }

Source source_of(Caller what, const Pool& pool, Dtype dtype, const BackwardOperands& o) {
  if (o.indices.given()) {
    check_indexed(what, pool);
    return Source::indices;
  }
  if (needs_valid_taps(pool, o)) {
    if (!detail::has_gradient(pool)) fail(what, name_of_gradient(pool), "does not exist");
    if (!o.x.given()) fail(what, "x", "must be given");
    if (!is_floating(dtype))
      fail(what, name_of_gradient(pool), "needs dtype f64, f32, f16 or bf16", fmt::format("it is {}", name(dtype)));
    return Source::statistic;
  }
  if (!o.x.given()) {
    if (pool.op == Op::max || pool.op == Op::min) fail(what, "x", "must be given, or indices");
    if (pool.op == Op::lp || (pool.nan == NanPolicy::omit && is_floating(dtype))) {
      fail(what, "x", "must be given: only sum and avg, with NaN policy propagate, do without");
    }
  }
  if (!is_floating(dtype) && (pool.op == Op::avg || pool.op == Op::lp)) {
    fail(what, name_of_gradient(pool), "needs dtype f64, f32, f16 or bf16", fmt::format("it is {}", name(dtype)));
  }
  return o.x.given() ? Source::x : Source::dy;
}

void run_backward(Caller what, const Problem& problem, Source source, const BackwardOperands& o, const Argument& dx,
                  const Options& options) {
  const Argument dy =
      check_same(what, "dy", o.dy, source == Source::statistic ? problem.result : problem.dtype, problem.output_shape);
  check_apart(what, dy, dx);
  if (source == Source::statistic) {
    const Argument x = check_same(what, "x", o.x, problem.dtype, problem.shape);
    check_apart(what, x, dx);
    if (dx.device == Device::cuda) fail_on_cuda(what);
    const Beside beside = check_beside(what, problem, o.mask, o.weights, x);
    for (const auto& [name, view] : {std::pair("mask", &o.mask), std::pair("weights", &o.weights)}) {
      if (view->given()) check_apart(what, {name, view->data, view->device, byte_span(*view)}, dx);
    }
    check_options(what, options);
    const cpu::ExecutorScope scope(options.executor);
    return cpu::run_statistic_backward({.problem = problem,
                                        .x = o.x,
                                        .dy = o.dy,
                                        .dx = o.dx,
                                        .mask = beside.mask_view(),
                                        .weights = beside.weights_view()},
                                       options.threads);
  }
  if (source == Source::indices && detail::quantile_count(problem.pool) > 1)
    fail(what, "indices", "need a single q", fmt::format("there are {}", problem.pool.q.size()));
  if (source == Source::indices) check_apart(what, check_indices(what, o.indices, o.space, problem), dx);
  if (source == Source::x) check_apart(what, check_same(what, "x", o.x, problem.dtype, problem.shape), dx);
  check_options(what, options);
  const ConstTensor* x = source == Source::x ? &o.x : nullptr;
  if (dx.device == Device::cuda) {
    void* const stream = options.stream;
    if (source == Source::indices) return cuda::run_indexed_backward(problem, o.dy, o.indices, o.space, o.dx, stream);
    if (is_extremum(problem.pool)) return cuda::run_extremum_backward(problem, *x, o.dy, o.dx, stream);
    return cuda::run_sum_backward(problem, x, o.dy, o.dx, stream);
  }
  const cpu::ExecutorScope scope(options.executor);
  if (source == Source::indices) {
    return cpu::run_indexed_backward(problem, o.dy, o.indices, o.space, o.dx, options.threads);
  }
  if (is_extremum(problem.pool)) return cpu::run_extremum_backward(problem, *x, o.dy, o.dx, options.threads);
  cpu::run_sum_backward(problem, x, o.dy, o.dx, options.threads);
}

}  // namespace

Extents output_shape(const Pool& pool, const Extents& shape) {
  Pool bare = pool;  // without what depends on the dtype of x
  bare.nodata = bare.fill = bare.ignore = std::nullopt;
  bare.result_dtype.reset();
  return make_problem(bare, Dtype::u8, shape).output_shape;
}

void forward(const Pool& pool, const ForwardOperands& operands, const Options& options) {
  const Caller what = caller_of(pool);
  if (operands.indices.given()) check_indexed(what, pool);
  const Argument x = check_tensor(what, "x", operands.x);
  run_forward(what, make_problem(pool, operands.x.dtype, operands.x.shape), x, operands, options);
}

void forward(const Problem& problem, const ForwardOperands& operands, const Options& options) {
  const Caller what = caller_of(problem.pool);
  if (operands.indices.given()) check_indexed(what, problem.pool);
  const Argument x = check_same(what, "x", operands.x, problem.dtype, problem.shape);
  run_forward(what, problem, x, operands, options);
}

void backward(const Pool& pool, const BackwardOperands& operands, const Options& options) {
  const Caller what = caller_of(pool, kBackward);
  const Argument dx = check_tensor(what, "dx", operands.dx);
  const Source source = source_of(what, pool, operands.dx.dtype, operands);
  check_writable(what, "dx", operands.dx);
  run_backward(what, detail::resolve(what.name, pool, operands.dx.dtype, operands.dx.shape), source, operands, dx,
               options);
}

void backward(const Problem& problem, const BackwardOperands& operands, const Options& options) {
  const Caller what = caller_of(problem.pool, kBackward);
  const Source source = source_of(what, problem.pool, problem.dtype, operands);
  const Argument dx = check_output(what, "dx", operands.dx, problem.dtype, problem.shape);
  run_backward(what, problem, source, operands, dx, options);
}

bool codes_pay(const Problem& problem) { return cpu::codes_pay(problem); }

void unpool(const Extents& axes, const UnpoolOperands& operands, const Options& options) {
  const Caller what = {"unpool", ""};
  const auto& [by_name, y, indices, space, x] = operands;
  const Argument y_argument = check_tensor(what, "y", y);
  if (space == IndexSpace::window)
    fail(what, "indices", "must count elements of the plane or the tensor", "space is window");
  const Argument x_argument = check_output(what, "x", x, y.dtype, x.shape);
  Problem problem = detail::resolve_axes(what.name, axes, x.shape);
  problem.dtype = y.dtype;
  if (y.rank() != x.rank())
    fail(what, "y", fmt::format("must have the rank of x, {}", x.rank()), fmt::format("has {}", y.rank()));
  Extents expected = x.shape;
  for (int a = 0; a < problem.pooled; ++a) {
    const int d = problem.axes[static_cast<std::size_t>(a)];
    expected[d] = y.shape[d];
  }
  check_like(what, "y", y, y.dtype, expected);
  const Argument indices_argument = check_same(what, "indices", indices, Dtype::i64, y.shape);
  check_apart(what, y_argument, x_argument);
  check_apart(what, indices_argument, x_argument);
  check_options(what, options);
  if (x.device == Device::cuda) return cuda::run_unpool(problem, y, indices, space, x, options.stream);
  const cpu::ExecutorScope scope(options.executor);
  cpu::run_unpool(problem, y, indices, space, x, options.threads);
}

void detail::forward(const Windows& windows, const ErasedReduction& reduction, const ForwardOperands& operands,
                     const Options& options) {
  const Caller what = {"forward", ""};
  const ConstTensor& x = operands.x;
  const Tensor &y = operands.y, &indices = operands.indices;
  const Argument x_argument = check_tensor(what, "x", x);
  if (indices.given()) fail(what, "indices", "exist for max and min only", "this is a reduction of your own");
  const Problem problem = resolve(what.name, {.op = Op::sum, .windows = windows}, x.dtype, x.shape);
  check_like(what, "x", x, reduction.input, x.shape);
  check_apart(what, x_argument, check_output(what, "y", y, reduction.output, problem.output_shape));
  check_options(what, options);
  if (x.device != Device::cpu) fail(what, "x", "must be on the CPU for a reduction of your own", "is on a CUDA device");
  const cpu::ExecutorScope scope(options.executor);
  cpu::run_user(problem, reduction, x, y, options.threads);
}

Explanation explain(const Problem& problem) {
  const cpu::Choice choice = cpu::choice_for(problem);
  Explanation e{.strategy = std::string(choice.strategy), .why = std::string(choice.why)};
  const index_t in = element_count(problem.shape) * size_bytes(problem.dtype);
  const index_t out = element_count(problem.output_shape) * size_bytes(problem.result);
  const bool backward = problem.direction == Direction::backward;
  const bool valid_taps = problem.has_valid_taps() || problem.mask || problem.weights;
  const bool needs_input = valid_taps || is_extremum(problem.pool) || problem.pool.op == Op::lp ||
                           (problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype));
  e.bytes_read = backward ? out + (needs_input && !problem.codes ? in : 0) : in;
  e.bytes_written = backward ? in : out;
  if (problem.mask) e.bytes_read += element_count(problem.shape);
  if (problem.weights) e.bytes_read += element_count(problem.shape) * size_bytes(Dtype::f32);
  if (problem.indices) e.bytes_written += element_count(problem.output_shape) * size_bytes(Dtype::i64);
  if (problem.codes) (backward ? e.bytes_read : e.bytes_written) += element_count(problem.output_shape);
  e.combinations = choice.combinations;
  e.direct = static_cast<double>(element_count(problem.output_shape)) * static_cast<double>(problem.taps() - 1);
  return e;
}

std::string version() { return fmt::format("{}.{}.{}", ORIEL_VERSION_MAJOR, ORIEL_VERSION_MINOR, ORIEL_VERSION_PATCH); }
std::vector<std::string> supported_targets() { return cpu::supported_targets(); }
std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  const std::vector<std::string> names = supported_targets();
  for (const cpu::Kernels& of : cpu::supported_kernels()) {
    InstructionSet& set = sets.emplace_back(InstructionSet{names[sets.size()], of.vector_bytes, {"rows"}});
    if (of.planes) set.kernels.insert(set.kernels.end(), {"planes", "channels", "masked"});
    if (of.registers) set.kernels.emplace_back("registers");
    if (of.bytes) set.kernels.emplace_back("bytes");
  }
  return sets;
}
std::string active_target() { return cpu::active_target(); }
void set_target(const std::string& name) { cpu::set_target(name); }
int default_threads() { return cpu::default_threads(); }
bool has_cuda() { return cuda::built(); }

}  // namespace oriel
