#include "cpu/sum_gradient/adjoint_rows.h"

#include <cstring>
#include <optional>

#include "cpu/plan/tiling.h"
#include "cpu/recipe/kernels.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"
#include "cpu/sum_gradient/share_folder.h"
#include "cpu/sum_gradient/tap_tree.h"

namespace oriel::cpu {
namespace {

constexpr index_t kKeptBytes = index_t{16} << 20;  // rows that are kept for the next inputs
constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Whether floats hold every divisor, and so their quotients are rounded once.
bool divisors_fit(const Problem& problem, int bits) {
  index_t most = std::max<index_t>(1, problem.pool.divisor);
  for (int a = 0; problem.pool.divisor <= 0 && a < problem.pooled; ++a) {
    const index_t kernel = problem.axis[at(a)].kernel;
    if (kernel > (index_t{1} << bits) / most) return false;
    most *= kernel;
  }
  return most < (index_t{1} << bits);
}

bool suits(const RowLayout& layout, index_t value_bytes) {
  index_t kept = std::max<index_t>(1, layout.lanes.n) * value_bytes;
  bool adds = false;
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    if (axis.in == 0 || axis.out == 0 || most_shares(axis) > kMostTreeLeaves) return false;
    adds = adds || most_shares(axis) > 1;
    if (a > 0 || a == layout.row_axis) kept *= axis.in;
    if (kept > kKeptBytes) return false;
  }
  return !adds || layout.row_axis < 0 || layout.row_axis == layout.pooled() - 1;  // rows are spread last (S8)
}

// None if this does not suit the problem.
std::optional<ShareJob> job_of(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  const ConstTensor& dy = gradient.dy;
  const Tensor& dx = gradient.dx;
  const ConstTensor* x = depends_on_inputs(problem) ? gradient.x : nullptr;
  const Lane lane = dx.dtype == Dtype::f64 ? Lane::f64 : is_floating(dx.dtype) ? Lane::f32 : Lane::i64;
  ShareJob job{.problem = problem,
               .layout = gradient.adjoint_layout(),
               .dy = dy.data,
               .dx = dx.data,
               .how = gradient_recipe(dx.dtype),
               .kernels = share_table().shares(lane),
               .store = store_kernel(),
               .lift = kernels().lift(Lift::widen, dy.dtype, lane),
               .same_dy = size_bytes(dy.dtype) == size_bytes(lane),
               .same_dx = size_bytes(dx.dtype) == size_bytes(lane),
               .divides = x == nullptr && problem.pool.op == Op::avg,
               .past_caches = element_count(dx.shape) * size_bytes(dx.dtype) >= stream_bytes};
  job.how.in_bytes = size_bytes(dy.dtype);
  if (x != nullptr) {
    if (!(x->pitch == dx.pitch)) return {};
    if (problem.pool.op == Op::lp) job.norm = problem.pool.norm;
    job.x = x->data;
    job.lift_x = kernels().lift(Lift::widen, dx.dtype, lane);
  }
  if (job.layout.plane_count() == 0 || job.layout.lanes.n == 0) return job;
  if (!suits(job.layout, job.how.value_bytes)) return {};
  if (job.divides && !divisors_fit(problem, lane == Lane::f64 ? 53 : 24)) return {};
  return job;
}

void run(const ShareJob& job, int threads) {
  if (job.layout.plane_count() == 0 || job.layout.lanes.n == 0) return;
  const Tiling tiling(job.layout, job.how, threads > 0 ? threads : default_threads());
  parallel_for(tiling.task_count(), tiling.task_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena, tile_arena;
    ShareFolder folder(job, tiling, arena, tile_arena);
    for (index_t number = begin; number < end; ++number) {
      const auto [plane, tile, rows] = tiling.task(number);
      folder.fold(plane, tile, rows);
    }
    if (job.past_caches) finish_stream();
  });
}

}  // namespace

bool can_add_rows(const Gradient& gradient) {
  return !depends_on_inputs(gradient.problem) && job_of(gradient).has_value();
}

void run_added_rows(const Gradient& gradient, int threads) { run(*job_of(gradient), threads); }

bool fold_shares_by_rows(const Gradient& of_shares, int threads) {
  const std::optional<ShareJob> job = job_of(of_shares);
  if (job) run(*job, threads);
  return job.has_value();
}

}  // namespace oriel::cpu
