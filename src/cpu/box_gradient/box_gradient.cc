#include "cpu/box_gradient/box_gradient.h"

#include <algorithm>
#include <atomic>

#include "cpu/box_gradient/box_gatherer.h"
#include "cpu/indexed/scatter.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/stream.h"

namespace oriel::cpu {
namespace {

constexpr index_t kListedBytes = index_t{192} << 10;  // of boxes with lists, which are made for all planes' alike

constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

}  // namespace

bool can_gather(const Gradient& gradient) {
  const Problem& problem = gradient.problem;
  if (!is_floating(problem.dtype) || (gradient.index != nullptr && gradient.index->dtype != Dtype::i64)) return false;
  // Terms are added in the order of the tensor's axes (S9), and boxes go through those of the problem.
  if (!std::is_sorted(problem.axes.begin(), problem.axes.begin() + problem.pooled)) return false;
  return finds_places(problem, gradient.layout());
}

void run_gather(const Gradient& gradient, int threads) {
  const Problem& problem = gradient.problem;
  const ConstTensor &dy = gradient.dy, *index = gradient.index;
  const bool from_x = index == nullptr;
  const BoxGradientJob job{
      .problem = problem,
      .layout = gradient.layout(),
      .x = from_x ? gradient.x->data : nullptr,
      .index = from_x ? nullptr : static_cast<const std::int64_t*>(index->data),
      .space = gradient.space,
      .dy = dy.data,
      .dx = gradient.dx.data,
      .dx_pitch = from_x ? kIndex : kX,
      .dense_dy_bytes = dy.pitch == dense_pitch(dy.shape) ? element_count(dy.shape) * size_bytes(dy.dtype) : 0};
  const RowLayout& layout = job.layout;
  const index_t elem = size_bytes(problem.dtype);
  const PlaceCoords outputs = place_box_size(layout, std::max<index_t>(4, elem),
                                             overlaps(BoxGatherer::overlap_job(job)) ? kListedBytes : kBoxBytes,
                                             threads > 0 ? threads : default_threads());
  PlaceCoords inputs = outputs;
  index_t in_bytes = layout.lanes.n * elem, index_bytes = layout.lanes.n * 8;
  for (int a = 0; a < layout.pooled(); ++a) {
    const Axis& axis = layout.axis[at(a)].axis;
    inputs[at(a)] = outputs[at(a)] == axis.out ? axis.in : std::min(axis.in, outputs[at(a)] * axis.stride);
    in_bytes *= inputs[at(a)];
    index_bytes *= outputs[at(a)];
  }
  const auto each_box = [&](bool of_inputs, index_t bytes, const auto& body) {
    const PlaceBoxes boxes(layout, of_inputs ? inputs : outputs, of_inputs);
    parallel_for(boxes.count, bytes, threads, [&](index_t begin, index_t end) {
      Arena arena;
      BoxGatherer folder(job, inputs, arena);
      for (index_t i = begin; i < end; ++i) body(folder, boxes.plane(i), boxes.box(i));
      finish_stream();
    });
  };
  std::atomic<bool> good{true};
  if (job.x == nullptr) {  // before anything is written
    each_box(false, index_bytes, [&](BoxGatherer& folder, index_t plane, const PlaceBox& box) {
      if (!folder.check(plane, box)) good.store(false, std::memory_order_relaxed);
    });
  }
  if (!good.load()) return run_by_indices(gradient, threads);  // which says where
  each_box(true, in_bytes, [](BoxGatherer& folder, index_t plane, const PlaceBox& box) { folder.run(plane, box); });
}

}  // namespace oriel::cpu
