// Tensors of planes whose rows are contiguous (NCHW), and of channels that stand beside each other (NHWC): what the
// fast kernels ask of a call.
#pragma once

#include "cuda/device/aligned.h"
#include "cuda/ways.h"

namespace oriel::cuda {

/// One tensor as planes of rows: element (plane, d, h, w) is at plane * plane_pitch + d * depth_pitch + h * row + w *
/// column.
struct PlanePitches {
  index_t plane = 0, depth = 0, row = 0, column = 0;
};

/// A call over one to three axes of a tensor, in that order, the others one run of planes. Axes whose windows are
/// single places, one for each input, count as others.
struct Planes {
  int pooled = 0;  // 1 to 3
  index_t count = 1;
  PlanePitches x, y;
  Axis d, h, w;  // d, h: one window over one place where fewer axes are pooled
  /// The innermost axis where that is not pooled (NHWC), no part of the planes: its extent, else 1.
  index_t lanes = 1;

  bool pools[kMaxRank] = {};  // axes of the tensor
  int lane_axis = -1;
};

/// Whether the call is one over planes, with the pitches of both sides.
bool make_planes(const Problem& problem, const Extents& x_pitch, const Extents& y_pitch, Planes& planes);
/// Whether one more tensor, of x's or y's shape, has such planes too: `pitch` are its pitches, or numbers of its
/// places.
bool plane_pitches(const Problem& problem, const Planes& planes, const Extents& pitch, PlanePitches& pitches);

/// The elements of a tensor of the planes' inputs, or outputs, where nothing lies between them, else 0.
index_t run_of(const Planes& planes, const PlanePitches& pitches);
index_t run_of_outputs(const Planes& planes, const PlanePitches& pitches);

/// Windows of one size whose taps stand together.
inline bool is_plain(const Axis& axis) { return !axis.adaptive && axis.dilation == 1; }
inline bool are_plain(const Planes& planes) { return is_plain(planes.d) && is_plain(planes.h) && is_plain(planes.w); }

/// Whether every window of an axis reads an input.
inline bool all_have_taps(const Axis& axis) { return !axis.taps(0).empty() && !axis.taps(axis.out - 1).empty(); }

}  // namespace oriel::cuda
