// Where things are: the geometry of a launch as kernels take it, for tensors of any rank and pitch.
#pragma once

#include "cuda/device/divider.h"
#include "cuda/device/memory.cuh"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cuda {

/// What a walk keeps an offset in.
enum Walked : int {
  kSeen,    // the tensor that windows look at: it moves along the axes that are not pooled
  kMade,    // the tensor that is walked
  kOther,   // one more tensor of the walked shape
  kNumber,  // row-major numbers in the logical shape of the seen tensor; moves as that does
  kWalked
};

/// The shape that a launch walks, one thread for each place, the closest places first, so that neighbours touch
/// neighbours.
template <class I>
struct Walk {
  I count = 0;
  int rank = 0;
  Divider<I> extent[kMaxRank];
  index_t pitch[kWalked][kMaxRank] = {};
  signed char pooled[kMaxRank] = {};  // the number of the pooled axis, or -1
};

/// A place of a walk: its offsets, and its number along each pooled axis.
struct Place {
  index_t offset[kWalked] = {};
  index_t along[kMaxPooledAxes] = {};
};

template <class I>
__device__ __forceinline__ Place place_of(const Walk<I>& walk, I number) {
  Place place;
  for (int d = 0; d < walk.rank; ++d) {
    const auto c = static_cast<index_t>(walk.extent[d].take(number));
    for (int t = 0; t < kWalked; ++t) place.offset[t] += c * walk.pitch[t][d];
    if (walk.pooled[d] >= 0) place.along[walk.pooled[d]] = c;
  }
  return place;
}

/// The pooled axes of a launch, in the order of S4 and S8, and the pitches of the tensor that windows look at.
struct Windows {
  int pooled = 0;
  Axis axis[kMaxPooledAxes];
  index_t pitch[kMaxPooledAxes] = {};
};

/// What make_walk walks.
struct Walker {
  const Problem& problem;
  const Extents& shape;     // that is walked
  const Extents& made;      // pitches of the walked tensor
  const Extents* seen;      // pitches of the tensor that windows look at, or null
  const Extents* other;     // pitches of one more tensor of the walked shape, or null
  const Extents& numbered;  // the shape in which places are numbered
  bool in_order = false;    // in row-major order, not that of memory
};

template <class I>
Walk<I> make_walk(const Walker& w) {
  Walk<I> walk;
  int order[kMaxRank];
  for (int d = w.shape.size() - 1; d >= 0; --d) {
    if (w.shape[d] == 1) continue;
    const auto reach = [&](int axis) { return w.made[axis] < 0 ? -w.made[axis] : w.made[axis]; };
    int at = walk.rank++;
    for (; at > 0 && !w.in_order && reach(order[at - 1]) > reach(d); --at) order[at] = order[at - 1];
    order[at] = d;
  }
  walk.count = static_cast<I>(element_count(w.shape));
  const Extents step = dense_pitch(w.numbered);
  for (int i = 0; i < walk.rank; ++i) {
    const int d = order[i];
    int number = -1;
    for (int a = 0; a < w.problem.pooled; ++a) {
      if (w.problem.axes[static_cast<std::size_t>(a)] == d) number = a;
    }
    walk.extent[i] = Divider<I>(w.shape[d]);
    walk.pooled[i] = static_cast<signed char>(number);
    walk.pitch[kSeen][i] = w.seen != nullptr && number < 0 ? (*w.seen)[d] : 0;
    walk.pitch[kMade][i] = w.made[d];
    walk.pitch[kOther][i] = w.other != nullptr ? (*w.other)[d] : 0;
    walk.pitch[kNumber][i] = number < 0 ? step[d] : 0;
  }
  return walk;
}

/// The windows of a problem over a tensor of those pitches; `adjoint`: of its gradient.
inline Windows make_windows(const Problem& problem, const Extents& pitch, bool adjoint) {
  Windows windows;
  windows.pooled = problem.pooled;
  for (int a = 0; a < problem.pooled; ++a) {
    const std::size_t i = static_cast<std::size_t>(a);
    windows.axis[a] = adjoint ? problem.axis[i].adjoint() : problem.axis[i];
    windows.pitch[a] = pitch[problem.axes[i]];
  }
  return windows;
}

/// The divisor of the output at `along` (S5), fixed or counted.
__device__ __forceinline__ index_t divisor_at(const Axis* axis, int pooled, const index_t* along, bool include_padding,
                                              index_t fixed) {
  if (fixed > 0) return fixed;
  index_t divisor = 1;
  for (int a = 0; a < pooled; ++a) divisor *= axis[a].divisor(along[a], include_padding);
  return divisor;
}

}  // namespace oriel::cuda
