#include "cpu/run.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

#include "cpu/argmax/argmax.h"
#include "cpu/argmax/register_kernels.h"
#include "cpu/code_gradient/gather.h"
#include "cpu/gathered/gathered.h"
#include "cpu/gathered_gradient/gathered_gradient.h"
#include "cpu/plan/fold.h"
#include "cpu/recipe/recipe.h"
#include "cpu/strategies.h"

namespace oriel::cpu {
namespace {

FoldJob make_job(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space) {
  const SingleTaps single = index == nullptr ? SingleTaps::planes : SingleTaps::pooled;
  return {.layout = make_layout(problem, problem.axis, x, y, index, space, single),
          .plain = index != nullptr ? careful_recipe(problem) : plain_recipe(problem),
          .problem = &problem,
          .x = x.data,
          .y = y.data,
          .index = index != nullptr ? index->data : nullptr,
          .index_dtype = index != nullptr ? index->dtype : Dtype::i64,
          .space = space};
}

// Combinations of a window of k taps of an axis for each result: short windows are folded tap by tap, long ones that
// step by one share their powers of two with their neighbours.
double steps(const Axis& axis) {
  if (axis.kernel <= kMaxFold || axis.adaptive || axis.stride > 1) return static_cast<double>(axis.kernel - 1);
  const auto k = static_cast<std::uint64_t>(axis.kernel);
  return static_cast<double>(std::bit_width(k) + static_cast<std::size_t>(std::popcount(k)) - 2);
}

}  // namespace

void run(const Problem& problem, const ConstTensor& x, const Tensor& y, const Tensor* index, IndexSpace space,
         int threads) {
  run_fold(make_job(problem, x, y, index, space), threads);
}

Choice choice_for(const Problem& problem) {
  Choice choice;
  double rows = static_cast<double>(element_count(problem.shape));
  const ConstTensor x(nullptr, problem.dtype, problem.shape, dense_pitch(problem.shape, problem.order));
  const Tensor y(nullptr, problem.dtype, problem.output_shape, dense_pitch(problem.output_shape, problem.order));
  std::int64_t none = 0;  // stands for indices that are asked for
  const Tensor index(&none, problem.codes ? Dtype::u8 : Dtype::i64, y.shape, y.pitch);
  const bool indexed = problem.indices || problem.codes;
  const IndexSpace space = problem.codes ? IndexSpace::window : IndexSpace::plane;
  const auto take = [&choice](const auto& strategy) {
    choice.strategy = strategy.name;
    choice.why = strategy.when;
    return choice;
  };
  if (problem.direction == Direction::backward) {  // a term of each tap, in whatever order
    choice.combinations =
        static_cast<double>(element_count(problem.output_shape)) * static_cast<double>(problem.taps());
    if (problem.has_valid_taps() || problem.mask || problem.weights) {  // as run_statistic_backward does
      choice.strategy = "gathered";
      choice.why = "the gradient of any pool over valid taps: each window's are gathered, and its terms added in order";
      return choice;
    }
    const ConstTensor places = index;
    const bool from_x = !indexed && (finds_extrema(problem) || depends_on_inputs(problem));
    return take(strategy_of({.problem = problem,
                             .x = from_x ? &x : nullptr,
                             .index = indexed ? &places : nullptr,
                             .space = space,
                             .dy = y,
                             .dx = Tensor(nullptr, x.dtype, x.shape, x.pitch)}));
  }
  if (problem.has_valid_taps() || problem.mask || problem.weights) {
    choice.combinations =
        static_cast<double>(element_count(problem.output_shape)) * static_cast<double>(problem.taps() - 1);
    const Extents none_pitch = Extents::filled(problem.shape.size(), 0);
    const ConstTensor mask(nullptr, Dtype::u8, problem.shape, none_pitch);
    const ConstTensor weights(nullptr, Dtype::f32, problem.shape, none_pitch);
    return take(strategy_of(Statistic{.problem = problem,
                                      .x = x,
                                      .y = Tensor(nullptr, problem.result, y.shape, y.pitch),
                                      .mask = problem.mask ? &mask : nullptr,
                                      .weights = problem.weights ? &weights : nullptr,
                                      .index = indexed ? &index : nullptr,
                                      .space = space}));
  }
  for (int a = 0; a < problem.pooled; ++a) {  // each axis is folded at the places that the axes before have left
    const Axis& axis = problem.axis[static_cast<std::size_t>(a)];
    rows *= static_cast<double>(axis.out) / static_cast<double>(std::max<index_t>(1, axis.in));
    choice.combinations += rows * steps(axis);
  }
  return take(strategy_of(make_job(problem, x, y, indexed ? &index : nullptr, space)));
}

// Codes of the fast kernels take 0.9 to 1.4 times the time of values alone, on small planes 1.8, and gathering by them
// a sixth to two thirds of finding them again. Only overlapping windows on planes smaller than a vector gain nothing
// (7x7 k3s1: 42 us for 32). By AVX2 codes take 1.6 to 2 times the time of values, on rows of less than two vectors 3:
// then windows that do not overlap gain nothing either (2x2: 9.0 ms for 8.2, forward and backward), nor do short rows
// (14x14 k3s1: 4.4 for 4.3).
bool codes_pay(const Problem& problem) {
  const Pool& pool = problem.pool;
  if ((pool.op != Op::max && pool.op != Op::min) || problem.has_valid_taps() || pool.nan != NanPolicy::propagate)
    return false;
  if (!is_floating(problem.dtype) || problem.taps() > kMostByteCodes) return false;
  const Extents in = dense_pitch(problem.shape, problem.order), out = dense_pitch(problem.output_shape, problem.order);
  const ConstTensor x(nullptr, problem.dtype, problem.shape, in);
  const Tensor dx(nullptr, problem.dtype, problem.shape, in), y(nullptr, problem.dtype, problem.output_shape, out);
  std::uint8_t none = 0;  // stands for codes that are asked for
  const Tensor codes(&none, Dtype::u8, problem.output_shape, out);
  const FoldJob job = make_job(problem, x, y, &codes, IndexSpace::window);
  if (!can_codes(job)) return false;
  const auto pooled = std::span(problem.axis).first(static_cast<std::size_t>(problem.pooled));
  const bool apart = std::ranges::all_of(pooled, [](const Axis& axis) { return axis.stride >= axis.kernel; });
  if (const CodeKernel kernel = code_table().kernel(pool.op, problem.dtype); !kernel.quick) {
    const bool is_short = job.layout.lanes.n == 1 && job.layout.axis.end()[-1].axis.in < 2 * kernel.vector;
    if (apart || is_short) return false;
  }
  const ConstTensor index = codes;
  const std::optional<GatherWay> way = gather_way({.problem = problem, .index = &index, .dy = y, .dx = dx});
  if (!way) return size_bytes(problem.dtype) >= 4;  // scattered in half to a quarter of the time of finding them again
  return way != GatherWay::whole || apart;
}

void run(const Problem& problem, const RowReduction& reduction, const ConstTensor& x, const Tensor& y, int threads) {
  const FoldJob job{.layout = make_layout(problem, problem.axis, x, y, nullptr, IndexSpace::plane),
                    .plain = reduction,
                    .x = x.data,
                    .y = y.data};
  run_fold(job, threads);
}

void run_user(const Problem& problem, const detail::ErasedReduction& reduction, const ConstTensor& x, const Tensor& y,
              int threads) {
  run(problem, user_recipe(reduction), x, y, threads);
}

void run_fold(const FoldJob& job, int threads) {
  const index_t planes = job.layout.plane_count();
  if (planes == 0 || job.layout.lanes.n == 0) return;
  for (int a = 0; a < job.layout.pooled(); ++a) {
    if (job.layout.axis[static_cast<std::size_t>(a)].axis.out == 0) return;
  }
  strategy_of(job).run(job, threads);
}

void run_gradient(const Gradient& gradient, int threads) {
  if (element_count(gradient.dx.shape) == 0) return;  // S11
  strategy_of(gradient).run(gradient, threads);
}

index_t first_bad_weight(const ConstTensor& weights, const Pool& pool) { return find_bad_weight(weights, pool); }

void run_statistic(const Statistic& job, int threads) {
  if (element_count(job.y.shape) == 0) return;  // S11
  strategy_of(job).run(job, threads);
}

void run_statistic_backward(const StatisticGradient& job, int threads) {
  if (element_count(job.dx.shape) == 0) return;
  run_gathered_gradient(job, threads);
}

void run_sum_backward(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx,
                      int threads) {
  run_gradient({.problem = problem, .x = depends_on_inputs(problem) ? x : nullptr, .dy = dy, .dx = dx}, threads);
}

void run_extremum_backward(const Problem& problem, const ConstTensor& x, const ConstTensor& dy, const Tensor& dx,
                           int threads) {
  run_gradient({.problem = problem, .x = &x, .dy = dy, .dx = dx}, threads);
}

void run_indexed_backward(const Problem& problem, const ConstTensor& dy, const ConstTensor& index, IndexSpace space,
                          const Tensor& dx, int threads) {
  run_gradient({.problem = problem, .index = &index, .space = space, .dy = dy, .dx = dx}, threads);
}

}  // namespace oriel::cpu
