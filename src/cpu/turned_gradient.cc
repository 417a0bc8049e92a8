#include "cpu/turned_gradient.h"

#include <algorithm>

#include "cpu/arena.h"
#include "cpu/parallel.h"
#include "cpu/turned_batch.h"

namespace oriel::cpu {
namespace {

constexpr index_t kScratchBytes = 512 * 1024;       // of x, dy and dx of planes side by side: half a second cache,
constexpr index_t kMostScratchBytes = 1024 * 1024;  // if there are no fewer planes

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

}  // namespace

bool turn_gradient(const Problem& problem, const ConstTensor* x, const ConstTensor& dy, const Tensor& dx, int threads,
                   index_t most_row_bytes, const RunGradient& run) {
  const int outer = problem.axes[0];
  if (outer < 1 || !is_stack(problem, dy.shape, dy.pitch) || !is_stack(problem, dx.shape, dx.pitch) ||
      (x != nullptr && !is_stack(problem, x->shape, x->pitch))) {
    return false;
  }
  index_t planes = 1;
  for (int a = 0; a < outer; ++a) planes *= dx.shape[a];
  const index_t bytes = size_bytes(problem.dtype);
  if (planes == 0 || element_count(dy.shape) == 0 || dx.shape.back() * bytes > most_row_bytes) return false;
  const index_t in = element_count(dx.shape) / planes, out = element_count(dy.shape) / planes;
  const index_t all = (x != nullptr ? 2 * in : in) + out;
  const index_t lanes = batch_lanes(planes, all * bytes, kScratchBytes, kMostScratchBytes);
  if (lanes == 0) return false;
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
      run(turned, x != nullptr ? &x_turned : nullptr, dy_turned, dx_turned);
      batch.turn_back(dx_turned.data, part, in, dx.data);
    }
  });
  return true;
}

}  // namespace oriel::cpu
