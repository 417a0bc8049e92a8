// Entry points: every error of a caller is found here; below nothing can fail for it.
#include "oriel/pool.h"

#include <cmath>

#include "cpu/run.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/targets.h"
#include "cuda/run.h"
#include "fmt/format.h"
#include "oriel/version.h"

namespace oriel {
namespace {

// Which function fails, in two parts: they are joined for an error only, since most calls have none.
struct Caller {
  std::string_view name;
  std::string_view rest;
};

constexpr std::string_view kBackward = "_pool backward";

Caller caller_of(const Pool& pool, std::string_view rest = "_pool") { return {name(pool.op), rest}; }

template <class... Values>
[[noreturn]] void fail(Caller what, fmt::format_string<Values...> text, Values&&... values) {
  throw Error(fmt::format("{}{}: ", what.name, what.rest) + fmt::format(text, std::forward<Values>(values)...));
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
  if (t.pitch.size() != t.shape.size()) {
    fail(what, "{} must have one pitch per axis, but has {} for {} axes", argument, t.pitch.size(), t.shape.size());
  }
  for (int d = 0; d < t.rank(); ++d) {
    if (t.shape[d] < 0) {
      fail(what, "{} must have extents >= 0, but axis {} has {}", argument, d, t.shape[d]);
    }
  }
  if (t.device == Device::cuda) {
    cuda::check_pointer(fmt::format("{}{}: {}", what.name, what.rest, argument), t.data, t.dtype);
  }
  if (t.data == nullptr && element_count(t.shape) != 0) {
    fail(what, "{} must point to its {} elements, but its data is null", argument, element_count(t.shape));
  }
  return {argument, t.data, t.device, byte_span(t)};  // throws where an offset would not fit index_t
}

Argument check_same(Caller what, const char* argument, const ConstTensor& t, Dtype dtype, const Extents& shape) {
  const Argument checked = check_tensor(what, argument, t);
  if (t.dtype != dtype) {
    fail(what, "{} must have dtype {}, but has {}", argument, name(dtype), name(t.dtype));
  }
  if (!(t.shape == shape)) {
    fail(what, "{} must have shape {}, but has {}", argument, to_string(shape), to_string(t.shape));
  }
  return checked;
}

void check_writable(Caller what, const char* argument, const ConstTensor& t) {
  if (may_self_overlap(t)) {
    fail(what, "{} is written, so its elements must not share memory, but its pitches {} make them", argument,
         to_string(t.pitch));
  }
}

Argument check_output(Caller what, const char* argument, const ConstTensor& t, Dtype dtype, const Extents& shape) {
  const Argument checked = check_same(what, argument, t, dtype, shape);
  check_writable(what, argument, t);
  return checked;
}

// Two tensors of a call: on one device, apart in memory.
void check_apart(Caller what, const Argument& a, const Argument& b) {
  if (a.device != b.device) {
    const auto place = [](const Argument& t) { return t.device == Device::cpu ? "the CPU" : "a CUDA device"; };
    fail(what, "{} and {} must be on the same device, but are on {} and {}", a.name, b.name, place(a), place(b));
  }
  if (may_overlap(a.data, a.span, b.data, b.span)) {
    fail(what, "{} and {} must not share memory, but they overlap", a.name, b.name);
  }
}

void check_threads(Caller what, const Options& options) {
  if (options.threads < 0) {
    fail(what, "threads must be >= 0 (0: all), but is {}", options.threads);
  }
}

bool is_extremum(const Pool& pool) {
  return pool.op == Op::max || pool.op == Op::min || (pool.op == Op::lp && std::isinf(pool.norm));
}

void check_indexed(Caller what, const Pool& pool) {
  if (pool.op != Op::max && pool.op != Op::min) {
    fail(what, "indices exist for max and min only, but op is {}", name(pool.op));
  }
}

// The dtypes that indices may have (S10).
Argument check_indices(Caller what, const ConstTensor& t, IndexSpace space, const Problem& problem) {
  if (t.dtype != Dtype::i64) {
    if (t.dtype != Dtype::u8 && t.dtype != Dtype::i32) {
      fail(what, "indices must have dtype i64 (in space window also u8 or i32), but has {}", name(t.dtype));
    }
    if (space != IndexSpace::window) {
      fail(what, "indices of dtype {} count taps of the window, but space is {}; allowed there: i64", name(t.dtype),
           space == IndexSpace::plane ? "plane" : "tensor");
    }
    const index_t most = t.dtype == Dtype::u8 ? kMostByteCodes : highest_value<std::int32_t>();
    if (problem.taps() > most) {
      fail(what, "indices of dtype {} count windows of at most {} taps, but these have {}", name(t.dtype), most,
           problem.taps());
    }
  }
  return check_same(what, "indices", t, t.dtype, problem.output_shape);
}

void check_needs_no_input(Caller what, const Pool& pool, Dtype dtype) {
  if ((pool.op != Op::sum && pool.op != Op::avg) || (pool.nan == NanPolicy::omit && is_floating(dtype))) {
    fail(what, "needs x as well: only sum and avg, with NaN policy propagate, do without");
  }
}

void check_gradient(Caller what, const Pool& pool, Dtype dtype) {
  if (!is_floating(dtype) && (pool.op == Op::avg || pool.op == Op::lp)) {
    fail(what, "a gradient of {} needs dtype f64, f32, f16 or bf16, but it is {}", name(pool.op), name(dtype));
  }
}

// What is left of a call once its problem is known.
void run_indexed(Caller what, const Problem& problem, const Argument& x_arg, const ConstTensor& x, const Tensor& y,
                 const Tensor& indices, IndexSpace space, const Options& options) {
  const Argument y_arg = check_output(what, "y", y, problem.dtype, problem.output_shape);
  const Argument indices_arg = check_indices(what, indices, space, problem);
  check_writable(what, "indices", indices);
  check_apart(what, x_arg, y_arg);
  check_apart(what, x_arg, indices_arg);
  check_apart(what, y_arg, indices_arg);
  check_threads(what, options);
  if (x.device == Device::cuda) return cuda::run(problem, x, y, &indices, space, options.stream);
  cpu::run(problem, x, y, &indices, space, options.threads);
}

// `x` may be null where the pool does not need it.
void run_backward(Caller what, const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                  const Options& options) {
  const Argument dx_arg = check_output(what, "dx", dx, problem.dtype, problem.shape);
  const Argument dy_arg = check_same(what, "dy", dy, problem.dtype, problem.output_shape);
  check_apart(what, dy_arg, dx_arg);
  if (x != nullptr) check_apart(what, {"x", x->data, x->device, byte_span(*x)}, dx_arg);
  check_threads(what, options);
  if (dx.device == Device::cuda) {
    is_extremum(problem.pool) ? cuda::run_extremum_backward(problem, *x, dy, dx, options.stream)
                              : cuda::run_sum_backward(problem, x, dy, dx, options.stream);
  } else if (is_extremum(problem.pool)) {
    cpu::run_extremum_backward(problem, *x, dy, dx, options.threads);
  } else {
    cpu::run_sum_backward(problem, x, dy, dx, options.threads);
  }
}

void run_indexed_backward(Caller what, const Problem& problem, const ConstTensor& dy, const ConstTensor& indices,
                          IndexSpace space, const Tensor& dx, const Options& options) {
  const Argument dx_arg = check_output(what, "dx", dx, problem.dtype, problem.shape);
  const Argument dy_arg = check_same(what, "dy", dy, problem.dtype, problem.output_shape);
  const Argument indices_arg = check_indices(what, indices, space, problem);
  check_apart(what, dy_arg, dx_arg);
  check_apart(what, indices_arg, dx_arg);
  check_threads(what, options);
  if (dx.device == Device::cuda) {
    return cuda::run_indexed_backward(problem, dy, indices, space, dx, options.stream);
  }
  cpu::run_indexed_backward(problem, dy, indices, space, dx, options.threads);
}

}  // namespace

Extents output_shape(const Pool& pool, const Extents& shape) {
  return make_problem(pool, Dtype::f32, shape).output_shape;
}

void forward(const Pool& pool, const ConstTensor& x, const Tensor& y, const Options& options) {
  check_tensor(caller_of(pool), "x", x);
  forward(make_problem(pool, x.dtype, x.shape), x, y, options);
}

void forward(const Problem& problem, const ConstTensor& x, const Tensor& y, const Options& options) {
  const Caller what = caller_of(problem.pool);
  const Argument x_arg = check_same(what, "x", x, problem.dtype, problem.shape);
  const Argument y_arg = check_output(what, "y", y, problem.dtype, problem.output_shape);
  check_apart(what, x_arg, y_arg);
  check_threads(what, options);
  if (x.device == Device::cuda) return cuda::run(problem, x, y, nullptr, IndexSpace::plane, options.stream);
  cpu::run(problem, x, y, nullptr, IndexSpace::plane, options.threads);
}

void forward(const Pool& pool, const ConstTensor& x, const Tensor& y, const Tensor& indices, IndexSpace space,
             const Options& options) {
  const Caller what = caller_of(pool);
  check_indexed(what, pool);
  const Argument x_arg = check_tensor(what, "x", x);
  run_indexed(what, make_problem(pool, x.dtype, x.shape), x_arg, x, y, indices, space, options);
}

void forward(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor& indices, IndexSpace space,
             const Options& options) {
  const Caller what = caller_of(problem.pool);
  check_indexed(what, problem.pool);
  const Argument x_arg = check_same(what, "x", x, problem.dtype, problem.shape);
  run_indexed(what, problem, x_arg, x, y, indices, space, options);
}

void forward(const Pool& pool, const RowReduction& reduction, const ConstTensor& x, const Tensor& y,
             const Options& options) {
  const Caller what = {"forward with a reduction of the caller's", ""};
  const Argument x_arg = check_tensor(what, "x", x);
  if (pool.op != Op::sum || pool.nan != NanPolicy::propagate) {
    fail(what, "pool.op must be sum and pool.nan propagate, but op is {}", name(pool.op));
  }
  const Problem problem = make_problem(pool, x.dtype, x.shape);
  const Argument y_arg = check_output(what, "y", y, y.dtype, problem.output_shape);
  check_apart(what, x_arg, y_arg);
  check_threads(what, options);
  if (x.device != Device::cpu) {
    fail(what, "x must be on the CPU: a reduction of the caller's is code for it, but x is on a CUDA device");
  }
  if (reduction.in_bytes != size_bytes(x.dtype) || reduction.out_bytes != size_bytes(y.dtype)) {
    fail(what, "elements of x and y must have {} and {} bytes, but have {} and {}", reduction.in_bytes,
         reduction.out_bytes, size_bytes(x.dtype), size_bytes(y.dtype));
  }
  RowReduction counted = reduction;
  counted.count_include_pad = pool.count_include_pad;
  counted.divisor = pool.divisor;
  cpu::run(problem, counted, x, y, options.threads);
}

void backward(const Pool& pool, const ConstTensor& dy, const Tensor& dx, const Options& options) {
  const Caller what = caller_of(pool, kBackward);
  check_needs_no_input(what, pool, dx.dtype);
  check_tensor(what, "dx", dx);
  check_gradient(what, pool, dx.dtype);
  run_backward(what, make_problem(pool, dx.dtype, dx.shape), nullptr, dy, dx, options);
}

void backward(const Problem& problem, const ConstTensor& dy, const Tensor& dx, const Options& options) {
  const Caller what = caller_of(problem.pool, kBackward);
  check_needs_no_input(what, problem.pool, problem.dtype);
  check_gradient(what, problem.pool, problem.dtype);
  run_backward(what, problem, nullptr, dy, dx, options);
}

void backward(const Pool& pool, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx, const Options& options) {
  const Caller what = caller_of(pool, kBackward);
  check_tensor(what, "x", x);
  check_gradient(what, pool, x.dtype);
  run_backward(what, make_problem(pool, x.dtype, x.shape), &x, dy, dx, options);
}

void backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
              const Options& options) {
  const Caller what = caller_of(problem.pool, kBackward);
  check_gradient(what, problem.pool, problem.dtype);
  check_same(what, "x", x, problem.dtype, problem.shape);
  run_backward(what, problem, &x, dy, dx, options);
}

void backward(const Pool& pool, const ConstTensor& dy, const ConstTensor& indices, IndexSpace space, const Tensor& dx,
              const Options& options) {
  const Caller what = caller_of(pool, kBackward);
  check_indexed(what, pool);
  check_tensor(what, "dx", dx);
  run_indexed_backward(what, make_problem(pool, dx.dtype, dx.shape), dy, indices, space, dx, options);
}

void backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& indices, IndexSpace space,
              const Tensor& dx, const Options& options) {
  const Caller what = caller_of(problem.pool, kBackward);
  check_indexed(what, problem.pool);
  run_indexed_backward(what, problem, dy, indices, space, dx, options);
}

bool codes_pay(const Problem& problem) { return cpu::codes_pay(problem); }

void unpool(const ConstTensor& y, const ConstTensor& indices, IndexSpace space, const Extents& axes, const Tensor& x,
            const Options& options) {
  const Caller what = {"unpool", ""};
  check_tensor(what, "y", y);
  if (space == IndexSpace::window) {
    fail(what, "indices must count places of the plane or the tensor, but space is window");
  }
  Pool pool;  // a problem over x with the pooled axes; its windows play no part
  pool.kernel = {1};
  pool.axes = axes;
  const Argument x_arg = check_output(what, "x", x, y.dtype, x.shape);
  Problem problem;
  try {
    problem = make_problem(pool, x.dtype, x.shape);
  } catch (const Error& e) {
    throw Error("unpool" + std::string(e.what()).substr(std::string_view("max_pool").size()));
  }
  if (y.rank() != x.rank()) {
    fail(what, "y must have the rank of x, {}, but has {}", x.rank(), y.rank());
  }
  Extents expected = x.shape;
  for (int a = 0; a < problem.pooled; ++a) {
    const int d = problem.axes[static_cast<std::size_t>(a)];
    expected[d] = y.shape[d];
  }
  const Argument y_arg = check_same(what, "y", y, y.dtype, expected);
  const Argument indices_arg = check_same(what, "indices", indices, Dtype::i64, y.shape);
  check_apart(what, y_arg, x_arg);
  check_apart(what, indices_arg, x_arg);
  check_threads(what, options);
  if (x.device == Device::cuda) return cuda::run_unpool(problem, y, indices, space, x, options.stream);
  cpu::run_unpool(problem, y, indices, space, x, options.threads);
}

Plan plan(const Problem& problem) {
  const cpu::Choice choice = cpu::choice_for(problem);
  Plan plan{.strategy = std::string(choice.strategy), .why = std::string(choice.why)};
  const index_t in = element_count(problem.shape) * size_bytes(problem.dtype);
  const index_t out = element_count(problem.output_shape) * size_bytes(problem.dtype);
  const bool backward = problem.direction == Direction::backward;
  const bool needs_input = is_extremum(problem.pool) || problem.pool.op == Op::lp ||
                           (problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype));
  plan.bytes_read = backward ? out + (needs_input && !problem.codes ? in : 0) : in;
  plan.bytes_written = backward ? in : out;
  if (problem.indices) plan.bytes_written += element_count(problem.output_shape) * size_bytes(Dtype::i64);
  if (problem.codes) (backward ? plan.bytes_read : plan.bytes_written) += element_count(problem.output_shape);
  plan.combinations = choice.combinations;
  plan.direct = static_cast<double>(element_count(problem.output_shape)) * static_cast<double>(problem.taps() - 1);
  return plan;
}

std::string version() { return fmt::format("{}.{}.{}", ORIEL_VERSION_MAJOR, ORIEL_VERSION_MINOR, ORIEL_VERSION_PATCH); }
std::vector<std::string> supported_targets() { return cpu::supported_targets(); }
std::string active_target() { return cpu::active_target(); }
void set_target(const std::string& name) { cpu::set_target(name); }
int default_threads() { return cpu::default_threads(); }
bool has_cuda() { return cuda::built(); }

}  // namespace oriel
