#include "cpu/rewrite/mirrored_gradient.h"

#include <algorithm>

#include "cpu/plan/engine.h"
#include "cpu/recipe/kernels.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/sum_gradient/share_kernels.h"

namespace oriel::cpu {
namespace {

// Of dx and shares that are made together. What does not change from part to part takes time too: of 28x28 planes parts
// of 256 KB took 1.5 times as long.
constexpr index_t kPartBytes = index_t{1} << 20;
constexpr index_t kPlanes = 16;  // side by side: kernels for short rows fill vectors so

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// What all windows divide by; 0 where they differ, or where the type does not hold it.
index_t divisor_of_all(const Problem& problem) {
  const Pool& pool = problem.pool;
  if (pool.op == Op::sum) return 1;
  const index_t most = index_t{1} << (problem.dtype == Dtype::f64 ? 53 : 24);
  if (pool.divisor > 0) return pool.divisor < most ? pool.divisor : 0;
  index_t divisor = 1;
  for (int a = 0; a < problem.pooled; ++a) {
    const Axis& axis = problem.axis[at(a)];
    if (axis.divisor(0, pool.count_include_pad) != axis.kernel) return 0;  // the first and the last one miss most
    if (axis.divisor(axis.out - 1, pool.count_include_pad) != axis.kernel) return 0;
    if (axis.kernel >= most / divisor) return 0;
    divisor *= axis.kernel;
  }
  return divisor;
}

bool is_run(const ConstTensor& t, const Extents& order) { return t.pitch == dense_pitch(t.shape, order); }

// Whether windows step by one and, mirrored, are padded by nothing or more: every input is in a window then.
bool mirrors(const Axis& axis) {
  const Axis adjoint = axis.adjoint();
  return !axis.adaptive && axis.stride == 1 && axis.spacing == 1 && adjoint.first <= 0 &&
         adjoint.at(adjoint.out - 1, adjoint.kernel - 1) >= adjoint.in - 1;
}

// The sum over shares whose outputs are the inputs of `problem`, of planes one behind the other: tensor axis 0 counts
// them, the others lie in memory in their order.
struct MirroredSum {
  MirroredSum(const Problem& gradient, const Extents& order) : problem(gradient) {
    const auto begin = gradient.axes.begin(), end = begin + gradient.pooled;
    const auto first = std::find_if(order.begin(), order.end(),
                                    [&](index_t d) { return std::find(begin, end, static_cast<int>(d)) != end; });
    for (auto d = order.begin(); d != first; ++d) planes *= gradient.shape[static_cast<int>(*d)];
    problem.pool.op = Op::sum;
    problem.direction = Direction::forward;
    problem.order = {};
    problem.shape = {planes};
    problem.output_shape = {planes};
    for (auto d = first; d != order.end(); ++d) {
      const auto axis = std::find(begin, end, static_cast<int>(*d));
      if (axis != end) problem.axes[at(static_cast<int>(axis - begin))] = problem.shape.size();
      problem.shape.push_back(gradient.output_shape[static_cast<int>(*d)]);
      problem.output_shape.push_back(gradient.shape[static_cast<int>(*d)]);
    }
    for (int a = 0; a < gradient.pooled; ++a) problem.axis[at(a)] = gradient.axis[at(a)].adjoint();
  }

  /// So many of its planes.
  Problem part(index_t n) const {
    Problem some = problem;
    some.shape[0] = some.output_shape[0] = n;
    return some;
  }

  index_t inputs() const { return element_count(problem.shape) / std::max<index_t>(1, planes); }  // of a plane
  index_t outputs() const { return element_count(problem.output_shape) / std::max<index_t>(1, planes); }
  index_t plane_bytes() const { return (inputs() + outputs()) * size_bytes(problem.dtype); }

  Problem problem;
  index_t planes = 1;
};

// Planes of a part.
index_t planes_of_part(const MirroredSum& sum, index_t plane_bytes, int threads) {
  index_t n = std::clamp<index_t>(kPartBytes / plane_bytes, 1, sum.planes);
  if (threads != 1 && sum.planes / n < 8) n = ceil_div(n, 4);
  return n > kPlanes ? n / kPlanes * kPlanes : n;
}

}  // namespace

bool can_mirror(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  if ((problem.dtype != Dtype::f32 && problem.dtype != Dtype::f64) || depends_on_inputs(problem)) return false;
  if (element_count(gradient.dy.shape) == 0) return false;
  for (int a = 0; a < problem.pooled; ++a) {
    if (!mirrors(problem.axis[at(a)])) return false;
  }
  const Extents order = memory_order(gradient.dx.pitch);
  return divisor_of_all(problem) != 0 && is_run(gradient.dy, order) && is_run(gradient.dx, order);
}

bool mirror_pays(const Gradient& gradient) {
  const MirroredSum sum(gradient.problem, memory_order(gradient.dx.pitch));
  return sum.plane_bytes() <= kPartBytes;
}

void run_mirror(const Gradient& gradient, int threads) {
  const Problem& problem = gradient.problem;
  const index_t divisor = divisor_of_all(problem), elem = size_bytes(problem.dtype);
  const MirroredSum sum(problem, memory_order(gradient.dx.pitch));
  const index_t in = sum.inputs(), out = sum.outputs(), plane_bytes = sum.plane_bytes();
  const index_t most = planes_of_part(sum, plane_bytes, threads);
  const auto divide = share_table().shares(problem.dtype == Dtype::f64 ? Lane::f64 : Lane::f32).divide;
  parallel_for(ceil_div(sum.planes, most), most * plane_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    void* const shares = arena.take(most * in * elem + kShareSlack);
    for (index_t first = begin * most; first < std::min(sum.planes, end * most); first += most) {
      const Problem part = sum.part(std::min(most, sum.planes - first));
      const std::byte* terms = static_cast<const std::byte*>(gradient.dy.data) + first * in * elem;
      std::byte* sums = static_cast<std::byte*>(gradient.dx.data) + first * out * elem;
      divide(terms, part.shape[0] * in, static_cast<double>(divisor), false, shares);
      run(part, {shares, part.dtype, part.shape, dense_pitch(part.shape)},
          {sums, part.dtype, part.output_shape, dense_pitch(part.output_shape)}, nullptr, IndexSpace::plane, 1);
    }
  });
}

}  // namespace oriel::cpu
