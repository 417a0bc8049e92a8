#include "cuda/unpool.cuh"

#include "cuda/device/launch.cuh"
#include "cuda/run.h"
#include "cuda/ways.h"

namespace oriel::cuda {
namespace {

PlaneSteps plane_steps(const Problem& p, IndexSpace space) {
  PlaneSteps steps;
  steps.pooled = p.pooled;
  steps.plane_space = space == IndexSpace::plane;
  const Extents tensor = dense_pitch(p.shape);
  index_t plane = 1;
  for (int a = p.pooled - 1; a >= 0; --a) {
    const int d = p.axes[static_cast<std::size_t>(a)];
    steps.extent[a] = p.shape[d];
    steps.in_tensor[a] = tensor[d];
    steps.in_plane[a] = plane;
    plane *= p.shape[d];
  }
  for (int i = 0; i < p.pooled; ++i) {
    int at = i;
    for (; at > 0 && steps.in_tensor[steps.order[at - 1]] < steps.in_tensor[i]; --at) {
      steps.order[at] = steps.order[at - 1];
    }
    steps.order[at] = i;
  }
  return steps;
}

template <class T, class I>
void launch_unpool(const Problem& p, const ConstTensor& y, const ConstTensor& index, IndexSpace space, const Tensor& x,
                   void* stream) {
  const index_t count = element_count(x.shape);
  const Scratch winners(count * 8, stream);
  auto* winner = static_cast<long long*>(winners.data());
  launch(&clear_winners<I>, count, kBlock, 0, stream, static_cast<I>(count), winner);
  const auto outputs = make_walk<I>({p, y.shape, index.pitch, nullptr, nullptr, x.shape, true});
  launch(&choose_winners<I>, element_count(y.shape), kBlock, 0, stream, outputs,
         static_cast<const std::int64_t*>(index.data), plane_steps(p, space), winner);
  const Extents dense = dense_pitch(x.shape);
  const auto walk = make_walk<I>({p, x.shape, x.pitch, nullptr, &dense, x.shape});
  const auto numbers = make_walk<I>({p, y.shape, y.pitch, nullptr, nullptr, x.shape, true});
  launch(&write_winners<T, I>, count, kBlock, 0, stream, walk, numbers, static_cast<const T*>(y.data), winner,
         static_cast<T*>(x.data));
}

}  // namespace

void run_unpool(const Problem& problem, const ConstTensor& y, const ConstTensor& index, IndexSpace space,
                const Tensor& x, void* stream) {
  const bool small = is_small(element_count(x.shape)) && is_small(element_count(y.shape));
  visit(y.dtype, [&]<class T>() {
    small ? launch_unpool<T, std::uint32_t>(problem, y, index, space, x, stream)
          : launch_unpool<T, std::uint64_t>(problem, y, index, space, x, stream);
  });
}

}  // namespace oriel::cuda
