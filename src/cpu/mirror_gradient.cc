#include "cpu/mirror_gradient.h"

#include <algorithm>

#include "cpu/arena.h"
#include "cpu/kernels.h"
#include "cpu/parallel.h"
#include "cpu/run.h"
#include "cpu/share_kernels.h"

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

bool mirror_gradient(const Problem& problem, const ConstTensor& dy, const Tensor& dx, int threads) {
  if (problem.dtype != Dtype::f32 && problem.dtype != Dtype::f64) return false;
  if (element_count(dy.shape) == 0) return false;
  for (int a = 0; a < problem.pooled; ++a) {
    if (!mirrors(problem.axis[at(a)])) return false;
  }
  const index_t divisor = divisor_of_all(problem);
  const Extents order = memory_order(dx.pitch);
  if (divisor == 0 || !is_run(dy, order) || !is_run(dx, order)) return false;
  const MirroredSum sum(problem, order);
  const index_t elem = size_bytes(problem.dtype);
  const index_t in = element_count(dy.shape) / sum.planes, out = element_count(dx.shape) / sum.planes;
  const index_t plane_bytes = (in + out) * elem;
  if (plane_bytes > kPartBytes) return false;
  const index_t most = planes_of_part(sum, plane_bytes, threads);
  const auto divide = kernels().shares(problem.dtype == Dtype::f64 ? Lane::f64 : Lane::f32).divide;
  parallel_for(ceil_div(sum.planes, most), most * plane_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    void* const shares = arena.take(most * in * elem + kShareSlack);
    for (index_t first = begin * most; first < std::min(sum.planes, end * most); first += most) {
      const Problem part = sum.part(std::min(most, sum.planes - first));
      const std::byte* terms = static_cast<const std::byte*>(dy.data) + first * in * elem;
      std::byte* sums = static_cast<std::byte*>(dx.data) + first * out * elem;
      divide(terms, part.shape[0] * in, static_cast<double>(divisor), false, shares);
      run(part, {shares, part.dtype, part.shape, dense_pitch(part.shape)},
          {sums, part.dtype, part.output_shape, dense_pitch(part.output_shape)}, nullptr, IndexSpace::plane, 1);
    }
  });
  return true;
}

}  // namespace oriel::cpu
