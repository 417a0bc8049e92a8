#include "cuda/gather.cuh"

#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/rules.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

template <class T, class I>
void launch_gather(const Forward& call) {
  const Problem& p = call.problem;
  const T* x = static_cast<const T*>(call.x.data);
  T* y = static_cast<T*>(call.y.data);
  const auto walk = make_walk<I>(
      {p, p.output_shape, call.y.pitch, &call.x.pitch, call.index != nullptr ? &call.index->pitch : nullptr, p.shape});
  const Windows windows = make_windows(p, call.x.pitch, false);
  const auto count = static_cast<index_t>(walk.count);
  if (is_extremum(p)) {
    const Indices indices = make_indices(p, call.index != nullptr ? call.index->data : nullptr, call.kind);
    return launch(&gather_extremum<T, I>, count, kBlock, 0, call.stream, walk, windows, x, y, indices,
                  extremum_rule(p));
  }
  const SumRule rule = sum_rule(p);
  if constexpr (is_floating_v<T>) {
    launch(&gather_sum<T, accumulator_t<T>, I>, count, kBlock, 0, call.stream, walk, windows, x, y, rule);
  } else if (rule.lift == Lift::power) {
    launch(&gather_sum<T, double, I>, count, kBlock, 0, call.stream, walk, windows, x, y, rule);
  } else {
    launch(&gather_sum<T, std::int64_t, I>, count, kBlock, 0, call.stream, walk, windows, x, y, rule);
  }
}

}  // namespace

bool is_extremum(const Problem& problem) {
  const Pool& pool = problem.pool;
  return pool.op == Op::max || pool.op == Op::min || (pool.op == Op::lp && std::isinf(pool.norm));
}

bool gather_forward(const Forward& call) {
  if (call.ask_only) return true;
  const bool small = is_small(element_count(call.problem.output_shape));
  visit(call.problem.dtype,
        [&]<class T>() { small ? launch_gather<T, std::uint32_t>(call) : launch_gather<T, std::uint64_t>(call); });
  return true;
}

}  // namespace oriel::cuda
