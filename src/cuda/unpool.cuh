// Kernel "unpool": which output reaches a place last is found by a maximum over their numbers, which no order changes.
#pragma once

#include "cuda/index.cuh"

namespace oriel::cuda {

/// The pooled axes of a tensor in row-major order: extents, and steps of numbers in the tensor and in the plane.
struct PlaneSteps {
  int pooled = 0;
  index_t extent[kMaxPooledAxes] = {};
  index_t in_tensor[kMaxPooledAxes] = {};  // descending
  index_t in_plane[kMaxPooledAxes] = {};
  bool plane_space = true;
  int order[kMaxPooledAxes] = {};  // pooled axes by descending step in the tensor
};

template <class I>
__global__ void __launch_bounds__(256) clear_winners(I count, long long* winner) {
  const I number = thread_number<I>();
  if (number < count) store(winner + number, -1LL);
}

/// winner[place] = the greatest number of an output whose index names the place.
template <class I>
__global__ void __launch_bounds__(256) choose_winners(const __grid_constant__ Walk<I> walk, const std::int64_t* index,
                                                      const __grid_constant__ PlaneSteps steps, long long* winner) {
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  index_t rest = load(index + place.offset[kMade]);
  if (rest < 0) return;
  index_t target = place.offset[kNumber];
  if (!steps.plane_space) rest -= target;
  if (rest < 0) return;
  for (int i = 0; i < steps.pooled; ++i) {
    const int a = steps.plane_space ? i : steps.order[i];
    if (steps.extent[a] == 1) continue;  // its step may be that of the next axis
    const index_t step = steps.plane_space ? steps.in_plane[a] : steps.in_tensor[a];
    const index_t c = rest / step;
    if (c >= steps.extent[a]) return;
    rest -= c * step;
    target += c * steps.in_tensor[a];
  }
  if (rest == 0) atomicMax(winner + target, static_cast<long long>(number));
}

/// x = the element of y that won, or zero. `numbers` walks y in row-major order.
template <class T, class I>
__global__ void __launch_bounds__(256)
    write_winners(const __grid_constant__ Walk<I> walk, const __grid_constant__ Walk<I> numbers, const T* y,
                  const long long* winner, T* x) {
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  const long long chosen = load(winner + place.offset[kOther]);
  T value{};
  if (chosen >= 0) value = load(y + place_of(numbers, static_cast<I>(chosen)).offset[kMade]);
  store(x + place.offset[kMade], value);
}

}  // namespace oriel::cuda
