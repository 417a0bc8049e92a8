// Tensors of planes whose rows are contiguous (NCHW), and of channels that stand beside each other (NHWC): what the
// fast kernels ask of a call.
#pragma once

#include "cuda/ways.h"

namespace oriel::cuda {

/// One tensor as planes of rows: element (plane, d, h, w) is at plane * plane_pitch + d * depth_pitch + h * row + w *
/// column.
struct PlanePitches {
  index_t plane = 0, depth = 0, row = 0, column = 0;
};

/// A call over the last two or three axes of a tensor, in that order, the others one run of planes.
struct Planes {
  int pooled = 0;  // 2 or 3
  index_t count = 1;
  PlanePitches x, y;
  Axis d, h, w;  // d: one window over one place where two axes are pooled
};

/// Whether the call is one over planes, with the pitches of both sides. `lanes`: the innermost axis that is not pooled
/// is none of the planes' axes (NHWC): its extent, else 1.
bool make_planes(const Problem& problem, const Extents& x_pitch, const Extents& y_pitch, Planes& planes,
                 index_t* lanes = nullptr);

/// Whether every window of an axis reads an input.
inline bool all_have_taps(const Axis& axis) { return !axis.taps(0).empty() && !axis.taps(axis.out - 1).empty(); }

/// Whether `p` and every sum of multiples of the pitches are multiples of `bytes`.
inline bool is_aligned(const void* p, index_t bytes, index_t element, std::initializer_list<index_t> pitches) {
  bool aligned = reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes) == 0;
  for (index_t pitch : pitches) aligned = aligned && pitch * element % bytes == 0;
  return aligned;
}

}  // namespace oriel::cuda
