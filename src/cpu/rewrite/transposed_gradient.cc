#include "cpu/rewrite/transposed_gradient.h"

#include <algorithm>

#include "cpu/box_gradient/overlap_kernels.h"
#include "cpu/plan/engine.h"
#include "cpu/recipe/recipe.h"
#include "cpu/rewrite/transposed_batch.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {
namespace {

constexpr index_t kScratchBytes = 512 * 1024;       // of x, dy and dx of planes side by side: half a second cache,
constexpr index_t kMostScratchBytes = 1024 * 1024;  // if there are no fewer planes

// Bytes: longer rows gain nothing when their planes are turned,
constexpr index_t kMostSumRow = 160;
constexpr index_t kMostExtremumRow = 256;
constexpr index_t kMostOverlapRow = 108;  // of those that overlap kernels take: of 4-byte elements and 3 taps

constexpr index_t kMostChannels = 15;  // after the pooled axes: more of them fill vectors where they are

// Whether the axes from the first pooled one on are dense planes: the pooled ones in their order, then few channels.
bool is_stack(const Problem& problem, const Extents& shape, const Extents& pitch) {
  const int outer = problem.axes[0];
  for (int i = 0; i < problem.pooled; ++i) {
    if (problem.axes[static_cast<std::size_t>(i)] != outer + i) return false;
  }
  index_t channels = 1;
  for (int a = outer + problem.pooled; a < shape.size(); ++a) channels *= shape[a];
  return channels <= kMostChannels && pitch == dense_pitch(shape);
}

// Planes side by side: `lanes` of them along the first axis, the other ones before the pooled axes have extent 1.
Extents turned_shape(const Extents& shape, int outer, index_t lanes) {
  Extents turned = shape;
  for (int a = 0; a < outer; ++a) turned[a] = a == 0 ? lanes : 1;
  return turned;
}

Extents turned_pitch(const Extents& turned, int outer) {
  Extents pitch = dense_pitch(turned);
  for (int a = 0; a < turned.size(); ++a) pitch[a] = a == 0 ? 1 : a < outer ? 0 : pitch[a] * turned[0];
  return pitch;
}

// How planes are cut into batches; no lanes if they are not.
struct Batches {
  explicit Batches(const Gradient& gradient) : outer(gradient.problem.axes[0]) {
    const ConstTensor &dy = gradient.dy, &dx = gradient.dx;
    for (int a = 0; a < outer; ++a) planes *= dx.shape[a];
    if (planes == 0 || element_count(dy.shape) == 0) return;
    in = element_count(dx.shape) / planes;
    out = element_count(dy.shape) / planes;
    const index_t all = (gradient.x != nullptr ? 2 * in : in) + out;
    lanes = batch_lanes(planes, all * size_bytes(gradient.problem.dtype), kScratchBytes, kMostScratchBytes);
  }

  int outer;
  index_t planes = 1, in = 0, out = 0;
  index_t lanes = 0;
};

index_t most_row_bytes(const Problem& problem) {
  if (!finds_extrema(problem)) return kMostSumRow;
  const Axis& row = problem.axis[static_cast<std::size_t>(problem.pooled - 1)];
  const bool overlaps = problem.dtype == Dtype::f32 && row.dilation == 1 && row.kernel <= 3 &&
                        is_overlap(row.kernel, row.stride) &&
                        overlap_table().kernels(problem.pool.op, problem.dtype).gather != nullptr;
  return overlaps ? kMostOverlapRow : kMostExtremumRow;
}

}  // namespace

bool can_turn(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  const ConstTensor& dx = gradient.dx;
  if (problem.axes[0] < 1 || !is_stack(problem, gradient.dy.shape, gradient.dy.pitch) ||
      !is_stack(problem, dx.shape, dx.pitch) ||
      (gradient.x != nullptr && !is_stack(problem, gradient.x->shape, gradient.x->pitch))) {
    return false;
  }
  if (!finds_extrema(problem) && depends_on_inputs(problem)) return false;
  return Batches(gradient).lanes > 0;
}

bool turning_pays(const Gradient& gradient) {
  return gradient.dx.shape.back() * size_bytes(gradient.problem.dtype) <= most_row_bytes(gradient.problem);
}

void run_turned_gradient(const Gradient& gradient, int threads) {
  const Problem& problem = gradient.problem;
  const ConstTensor* x = gradient.x;
  const ConstTensor& dy = gradient.dy;
  const Tensor& dx = gradient.dx;
  const Batches batches(gradient);
  const index_t bytes = size_bytes(problem.dtype), lanes = batches.lanes, in = batches.in, out = batches.out;
  const index_t planes = batches.planes;
  const int outer = batches.outer;
  Problem turned = problem;
  turned.shape = turned_shape(dx.shape, outer, lanes);
  turned.output_shape = turned_shape(dy.shape, outer, lanes);
  const Extents in_pitch = turned_pitch(turned.shape, outer), out_pitch = turned_pitch(turned.output_shape, outer);
  parallel_for((planes + lanes - 1) / lanes, lanes * in * bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    const TurnedBatch batch(lanes, std::max(in, out), bytes, arena);
    const Tensor dy_turned(arena.take(lanes * out * bytes), dy.dtype, turned.output_shape, out_pitch);
    const Tensor dx_turned(arena.take(lanes * in * bytes), dx.dtype, turned.shape, in_pitch);
    ConstTensor x_turned;
    std::byte* x_data = nullptr;
    if (x != nullptr) {
      x_data = arena.take(lanes * in * bytes);
      x_turned = ConstTensor(x_data, x->dtype, turned.shape, in_pitch);
    }
    for (index_t b = begin; b < end; ++b) {
      const Range part = {b * lanes, std::min(planes, (b + 1) * lanes)};
      if (x != nullptr) batch.turn(x->data, part, in, x_data);
      batch.turn(dy.data, part, out, dy_turned.data);
      run_gradient({.problem = turned, .x = x != nullptr ? &x_turned : nullptr, .dy = dy_turned, .dx = dx_turned}, 1);
      batch.turn_back(dx_turned.data, part, in, dx.data);
    }
  });
}

}  // namespace oriel::cpu
