#include "oriel/distributed/local_pool.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "distributed/box_copy.h"
#include "distributed/index_spaces.h"
#include "distributed/memory.h"
#include "distributed/operand_checks.h"
#include "distributed/schedule.h"
#include "statistic_rules.h"

namespace oriel::distributed {
namespace {

// What a window without a tap gives (S6).
void no_tap_value(const Problem& problem, const Beside& beside, std::byte* value) {
  const std::array<double, 1> x{};  // room for any dtype
  std::array<double, 1> y{};
  const bool weighted = !beside.weights.empty();
  forward(blind_problem(problem, {1}, weighted),
          {.x = ConstTensor(x.data(), problem.dtype, {1}),
           .y = Tensor(y.data(), problem.result, {1}),
           .weights = weighted ? ConstTensor(x.data(), Dtype::f64, {1}) : ConstTensor()},
          {.threads = 1});
  std::memcpy(value, y.data(), static_cast<std::size_t>(size_bytes(problem.result)));
}

// A pool of several quantiles has a result of more axes than its input: what divides boxes of both does not know it.
const Problem& checked(const Problem& problem) {
  if (problem.output_shape.size() != problem.shape.size())
    throw Error(Error::Fields{.function = "distributed pool",
                              .argument = "q",
                              .allowed = "must be 1 value",
                              .value = fmt::format("has {}", problem.pool.q.size())});
  return problem;
}

// What a task reads beside gradients.
struct Inputs {
  ConstTensor x, mask, weights;
};

ConstTensor operand(const Operands& operands, Stream stream) {
  switch (stream) {
    case Stream::x:
      return operands.x;
    case Stream::dy:
      return operands.dy;
    case Stream::indices:
      return operands.indices;
    case Stream::mask:
      return operands.mask;
    case Stream::weights:
      return operands.weights;
  }
  return {};
}

}  // namespace

std::string_view name(Pass pass) {
  constexpr std::string_view kNames[] = {"forward", "backward", "backward_indices", "backward_inputs"};
  return kNames[static_cast<int>(pass)];
}

struct LocalPool::State {
  State(const Problem& problem, Partition in, Partition out, index_t r, const Beside& given)
      : plan(checked(problem), std::move(in), std::move(out)), rank(r), beside(given) {
    forward_exchange = plan.forward(r);  // throws for a rank that is none
    if (beside.any()) check_beside(problem, beside);
    no_tap_value(problem, beside, absent.data());
  }
  ~State() {
    if (keep) (void)memory.release();
  }

  struct PassState {
    Schedule schedule;
    Buffers buffers;
    std::byte* scratch = nullptr;
  };

  PassState& of(Pass pass) {
    PassState& p = passes[static_cast<std::size_t>(pass)];
    if (p.schedule.ready) return p;
    p.schedule = make_schedule(plan, pass, rank, beside);
    for (const MessagePlan& m : p.schedule.send) p.buffers.send.push_back({m.peer, nullptr, m.bytes});
    for (const MessagePlan& m : p.schedule.receive) p.buffers.receive.push_back({m.peer, nullptr, m.bytes});
    return p;
  }

  bool has(Pass pass) const;
  void require(Pass pass) const;
  const Translation& translation(IndexSpace space);
  void gather(PassState& p, const Task& task, const Operands& operands) const;
  Box owned_by(Stream stream) const;
  Dtype dtype_of(Stream stream) const;
  Inputs inputs_of(const PassState& p, const Task& task, const Operands& operands) const;
  ConstTensor source(const PassState& p, const Task& task, Stream stream, const Operands& operands) const;
  void run_forward(PassState& p, const Task& task, const Operands& operands, const Options& options);
  void run_backward(PassState& p, Pass pass, const Task& task, const Operands& operands, const Options& options) const;
  void run(Pass pass, bool in_place, const Operands& operands, const Options& options, void (*progress)(void*),
           void* context);
  IndexSpace engine_space(const Operands& operands) const;

  HaloPlan plan;
  index_t rank;
  Beside beside;
  Exchange forward_exchange;
  alignas(8) std::array<std::byte, 8> absent{};
  std::unique_ptr<Memory> memory = std::make_unique<Memory>();
  bool keep = false;                                       // whether the memory outlives this
  std::array<std::optional<Translation>, 2> translations;  // to plane, to tensor
  std::array<PassState, kPasses> passes;
};

bool LocalPool::State::has(Pass pass) const {
  const Problem& problem = plan.problem();
  const Op op = problem.pool.op;
  const bool valid_taps = problem.has_valid_taps() || problem.pool.result_dtype || beside.any();
  const bool differentiable = valid_taps ? is_floating(problem.dtype) && detail::has_gradient(problem.pool)
                                         : is_floating(problem.dtype) || (op != Op::avg && op != Op::lp);
  const bool omits = problem.pool.nan == NanPolicy::omit && is_floating(problem.dtype);
  switch (pass) {
    case Pass::forward:
      return true;
    case Pass::backward:
      return differentiable && !valid_taps && !omits && (op == Op::sum || op == Op::avg);
    case Pass::backward_indices:
      return detail::selects_tap(problem.pool) && detail::has_gradient(problem.pool) && problem.result == problem.dtype;
    case Pass::backward_inputs:
      return differentiable;
  }
  return false;
}

void LocalPool::State::require(Pass pass) const {
  if (has(pass)) return;
  const Problem& problem = plan.problem();
  fail(problem, pass, fmt::format("a pool of {} with dtype {}", name(problem.pool.op), name(problem.dtype)),
       "must use another pass", "this one is asked for");
}

const Translation& LocalPool::State::translation(IndexSpace space) {
  std::optional<Translation>& t = translations[space == IndexSpace::plane ? 0 : 1];
  if (!t) t.emplace(plan.problem(), forward_exchange.made, space);
  return *t;
}

// Which space the engine is asked for: `window` needs no knowledge of where a part lies; the others are asked for
// where one task has all that they count.
IndexSpace LocalPool::State::engine_space(const Operands& operands) const {
  const Schedule& s = passes[static_cast<std::size_t>(Pass::forward)].schedule;
  if (operands.space == IndexSpace::window || s.tasks.size() != 1) return IndexSpace::window;
  const Problem& problem = plan.problem();
  const Extents part = s.tasks[0].inputs.shape();
  bool whole = operands.space == IndexSpace::plane || part == problem.shape;
  for (int a = 0; a < problem.pooled; ++a) {
    const int d = problem.axes[static_cast<std::size_t>(a)];
    whole = whole && part[d] == problem.shape[d];
  }
  return whole ? operands.space : IndexSpace::window;
}

Box LocalPool::State::owned_by(Stream stream) const {
  const Box& owned = forward_exchange.owned;
  switch (stream) {
    case Stream::x:
      return owned;
    case Stream::mask:
      return beside_box(beside.mask, plan.problem().shape, owned);
    case Stream::weights:
      return beside_box(beside.weights, plan.problem().shape, owned);
    default:
      return forward_exchange.made;
  }
}

// Masks of both dtypes hold the same bytes.
Dtype LocalPool::State::dtype_of(Stream stream) const {
  const Problem& problem = plan.problem();
  return stream == Stream::x         ? problem.dtype
         : stream == Stream::dy      ? problem.result
         : stream == Stream::indices ? Dtype::i64
         : stream == Stream::mask    ? Dtype::u8
                                     : beside.weights_dtype;
}

void LocalPool::State::gather(PassState& p, const Task& task, const Operands& operands) const {
  for (const Ghost& ghost : task.ghosts) {
    const bool places = ghost.stream == Stream::indices;
    const Dtype dtype = dtype_of(ghost.stream);
    const Tensor whole(p.scratch + ghost.offset, dtype, ghost.box.shape());
    for (const Copy& c : ghost.copies) {
      const Tensor to = view_of(whole, ghost.box, c.part);
      if (c.message < 0) {
        copy(view_of(operand(operands, ghost.stream), c.from, c.part), to);
        continue;
      }
      const std::byte* data = p.buffers.receive[static_cast<std::size_t>(c.message)].data + c.offset;
      if (places)
        unpack_codes(data, p.schedule.code_bytes, c.from, c.part, to);
      else
        copy(view_of(ConstTensor(data, dtype, c.from.shape()), c.from, c.part), to);
    }
  }
}

// The tensor that a task reads: its own copy, or the rank's tensor where it lies.
ConstTensor LocalPool::State::source(const PassState& p, const Task& task, Stream stream,
                                     const Operands& operands) const {
  for (const Ghost& ghost : task.ghosts)
    if (ghost.stream == stream) return ConstTensor(p.scratch + ghost.offset, dtype_of(stream), ghost.box.shape());
  const bool outputs = stream == Stream::dy || stream == Stream::indices;
  Box read = outputs ? task.outputs : task.inputs;
  if (stream == Stream::mask) read = beside_box(beside.mask, plan.problem().shape, read);
  if (stream == Stream::weights) read = beside_box(beside.weights, plan.problem().shape, read);
  return view_of(operand(operands, stream), owned_by(stream), read);
}

Inputs LocalPool::State::inputs_of(const PassState& p, const Task& task, const Operands& operands) const {
  return {source(p, task, Stream::x, operands),
          beside.mask.empty() ? ConstTensor() : source(p, task, Stream::mask, operands),
          beside.weights.empty() ? ConstTensor() : source(p, task, Stream::weights, operands)};
}

void LocalPool::State::run_forward(PassState& p, const Task& task, const Operands& operands, const Options& options) {
  const Tensor y = view_of(operands.y, forward_exchange.made, task.made);
  const bool indexed = operands.indices.rank() != 0;
  const Tensor places = indexed ? view_of(operands.indices, forward_exchange.made, task.made) : Tensor();
  if (task.nothing) {
    fill(y, absent.data());
    const std::int64_t none = -1;
    if (indexed) fill(places, &none);
    return;
  }
  gather(p, task, operands);
  const auto [x, mask, weights] = inputs_of(p, task, operands);
  if (!indexed) return forward(task.problem, {.x = x, .y = y, .mask = mask, .weights = weights}, options);
  const IndexSpace space = engine_space(operands);
  forward(task.problem, {.x = x, .y = y, .indices = places, .space = space, .mask = mask, .weights = weights}, options);
  if (space != operands.space) translation(operands.space).run(task.outputs, places);
}

void LocalPool::State::run_backward(PassState& p, Pass pass, const Task& task, const Operands& operands,
                                    const Options& options) const {
  const Tensor own = view_of(operands.dx, forward_exchange.owned, task.made);
  if (task.nothing) {
    const double zero = 0;
    if (pass != Pass::backward_inputs) return fill(own, &zero);
    const Extents& shape = task.problem.output_shape;
    const ConstTensor no_dy(&zero, dtype_of(Stream::dy), shape, Extents::filled(shape.size(), 0));
    Task all = task;
    all.inputs = task.made;
    const auto [x, mask, weights] = inputs_of(p, all, operands);
    return backward(task.problem, {.x = x, .dy = no_dy, .dx = own, .mask = mask, .weights = weights}, options);
  }
  gather(p, task, operands);
  const ConstTensor dy = source(p, task, Stream::dy, operands);
  const Tensor made = task.result >= 0 ? Tensor(p.scratch + task.result, own.dtype, task.inputs.shape()) : own;
  if (pass == Pass::backward)
    backward(task.problem, {.dy = dy, .dx = made}, options);
  else if (pass == Pass::backward_indices)
    backward(task.problem,
             {.dy = dy, .indices = source(p, task, Stream::indices, operands), .space = IndexSpace::window, .dx = made},
             options);
  else {
    const auto [x, mask, weights] = inputs_of(p, task, operands);
    backward(task.problem, {.x = x, .dy = dy, .dx = made, .mask = mask, .weights = weights}, options);
  }
  if (task.result >= 0) copy(view_of(ConstTensor(made), task.inputs, task.made), own);
}

void LocalPool::State::run(Pass pass, bool in_place, const Operands& operands, const Options& options,
                           void (*progress)(void*), void* context) {
  PassState& p = of(pass);
  if (p.scratch == nullptr) p.scratch = memory->take(p.schedule.scratch_bytes);
  for (const Task& task : p.schedule.tasks) {
    if (task.in_place != in_place) continue;
    if (pass == Pass::forward)
      run_forward(p, task, operands, options);
    else
      run_backward(p, pass, task, operands, options);
    if (progress != nullptr) progress(context);
  }
}

LocalPool::LocalPool(const Problem& problem, Partition inputs, Partition outputs, index_t rank, const Beside& beside)
    : state_(std::make_unique<State>(problem, std::move(inputs), std::move(outputs), rank, beside)) {}
LocalPool::~LocalPool() = default;
LocalPool::LocalPool(LocalPool&&) noexcept = default;
LocalPool& LocalPool::operator=(LocalPool&&) noexcept = default;

const HaloPlan& LocalPool::plan() const { return state_->plan; }
index_t LocalPool::rank() const { return state_->rank; }
const Box& LocalPool::inputs() const { return state_->forward_exchange.owned; }
const Box& LocalPool::outputs() const { return state_->forward_exchange.made; }
const Beside& LocalPool::beside() const { return state_->beside; }
Extents LocalPool::beside_shape(const Extents& whole) const {
  return beside_box(whole, state_->plan.problem().shape, inputs()).shape();
}
bool LocalPool::has(Pass pass) const { return state_->has(pass); }
bool LocalPool::has_indices() const { return detail::selects_tap(state_->plan.problem().pool); }

Pass LocalPool::gradient() const {
  if (has(Pass::backward_indices)) return Pass::backward_indices;
  return has(Pass::backward) ? Pass::backward : Pass::backward_inputs;
}

Buffers& LocalPool::buffers(Pass pass) {
  state_->require(pass);
  return state_->of(pass).buffers;
}

Traffic LocalPool::traffic(Pass pass) {
  const Buffers& b = buffers(pass);
  Traffic t;
  for (const Message& m : b.send) t.bytes_sent += m.bytes;
  for (const Message& m : b.receive) t.bytes_received += m.bytes;
  t.messages_sent = static_cast<index_t>(b.send.size());
  t.messages_received = static_cast<index_t>(b.receive.size());
  return t;
}

void LocalPool::allocate(Pass pass) {
  Buffers& b = buffers(pass);
  for (std::vector<Message>* list : {&b.send, &b.receive}) {
    for (Message& m : *list) {
      if (m.data == nullptr) m.data = state_->memory->take(m.bytes);
    }
  }
}

void LocalPool::keep_memory() { state_->keep = true; }

void LocalPool::check(Pass pass, const Operands& operands) const {
  state_->require(pass);
  const Problem& problem = state_->plan.problem();
  const OperandChecks check{problem, pass, state_->rank, inputs()};
  const bool indexed = operands.indices.given();
  if (pass == Pass::forward) {
    check.fits("x", operands.x, problem.dtype, inputs());
    check.fits_and_is_writable("y", operands.y, problem.result, outputs());
    check.apart("x", operands.x, "y", operands.y);
    check.fit_beside(state_->beside, operands);
    check.beside_apart(operands, "y", operands.y);
    if (!indexed) return;
    if (!has_indices()) {
      fail(problem, pass, "indices", "must be empty for ops that do not select a tap",
           fmt::format("the op is {}", name(problem.pool.op)));
    }
    check.fits_and_is_writable("indices", operands.indices, Dtype::i64, outputs());
    check.apart("x", operands.x, "indices", operands.indices);
    check.apart("y", operands.y, "indices", operands.indices);
    check.beside_apart(operands, "indices", operands.indices);
    return;
  }
  check.fits("dy", operands.dy, problem.result, outputs());
  check.fits_and_is_writable("dx", operands.dx, problem.dtype, inputs());
  check.apart("dy", operands.dy, "dx", operands.dx);
  if (pass == Pass::backward_indices) {
    check.fits("indices", operands.indices, Dtype::i64, outputs());
    check.apart("indices", operands.indices, "dx", operands.dx);
    if (operands.space != IndexSpace::window) {
      fail(problem, pass, "indices", "must count taps of the window", "count those of another space");
    }
  } else if (pass == Pass::backward_inputs) {
    check.fits("x", operands.x, problem.dtype, inputs());
    check.apart("x", operands.x, "dx", operands.dx);
    check.fit_beside(state_->beside, operands);
    check.beside_apart(operands, "dx", operands.dx);
  }
}

void LocalPool::pack(Pass pass, const Operands& operands) {
  State::PassState& p = state_->of(pass);
  for (std::size_t m = 0; m < p.schedule.send.size(); ++m) {
    for (const Parcel& parcel : p.schedule.send[m].parcels) {
      std::byte* to = p.buffers.send[m].data + parcel.offset;
      if (parcel.stream == Stream::indices) {
        pack_codes(view_of(ConstTensor(operands.indices), outputs(), parcel.box), p.schedule.code_bytes, to);
        continue;
      }
      const Stream stream = parcel.stream;
      const ConstTensor from = view_of(operand(operands, stream), state_->owned_by(stream), parcel.box);
      copy(from, Tensor(to, from.dtype, parcel.box.shape()));
    }
  }
}

void LocalPool::interior(Pass pass, const Operands& operands, const Options& options, void (*progress)(void*),
                         void* context) {
  state_->run(pass, true, operands, options, progress, context);
}

void LocalPool::finish(Pass pass, const Operands& operands, const Options& options) {
  state_->run(pass, false, operands, options, nullptr, nullptr);
}

}  // namespace oriel::distributed
