// Indices of extrema over planes (rows.h), as the kernels that know a window's code store them.
#pragma once

#include <algorithm>

#include "cuda/groups.cuh"
#include "cuda/index.cuh"
#include "cuda/rows.h"

namespace oriel::cuda {

/// Indices in memory, and the numbers of places where they are stored as such.
struct PlaneIndices {
  void* data = nullptr;
  IndexKind kind = IndexKind::none;
  PlanePitches pitch;   // of the indices
  PlanePitches number;  // of a place in the plane or the tensor
  index_t lane_number = 0;
  bool aligned = false;  // what a thread stores begins at a multiple of as many bytes, up to 16
};

/// The indices of a call over planes. False: they do not lie as those do.
inline bool make_plane_indices(const Forward& call, const Planes& planes, PlaneIndices& index) {
  if (call.index == nullptr) return true;
  const Problem& p = call.problem;
  index.data = call.index->data;
  index.kind = call.kind;
  Extents number = dense_pitch(p.shape);
  if (call.kind != IndexKind::tensor) {
    for (index_t& n : number) n = 0;
    index_t step = 1;
    for (int a = p.pooled - 1; a >= 0; --a) {
      const int axis = p.axes[static_cast<std::size_t>(a)];
      number[axis] = step;
      step *= p.shape[axis];
    }
  }
  if (planes.lane_axis >= 0) {
    index.lane_number = number[planes.lane_axis];
    if (call.index->pitch[planes.lane_axis] != 1) return false;
  }
  return plane_pitches(p, planes, number, index.number) && plane_pitches(p, planes, call.index->pitch, index.pitch);
}

/// Whether groups of `count` neighbours begin at a multiple of their size or of 16 bytes.
inline bool are_groups_aligned(const PlaneIndices& index, index_t count, index_t neighbour) {
  const index_t element = index_bytes(index.kind), bytes = std::min<index_t>(count * element, kWidest);
  return is_aligned(index.data, bytes, element,
                    {index.pitch.plane, index.pitch.depth, index.pitch.row, neighbour * index.pitch.column});
}

/// Stores kOut neighbouring elements, those below `end`, 16 bytes at once.
template <class V, int kOut, class Value>
__device__ __forceinline__ void store_values(V* at, int first, int end, bool aligned, Value value) {
  constexpr int kPart = kOut < kLanes<V> ? kOut : kLanes<V>;
#pragma unroll
  for (int i = 0; i < kOut; i += kPart) {
    Pack<V, kPart> part;
#pragma unroll
    for (int j = 0; j < kPart; ++j) part.at[j] = static_cast<V>(value(i + j));
    store_group<kPart>(at + i, part, first + i, end, aligned);
  }
}

/// Stores the indices of kOut outputs beside each other, those below `end`, from offset `at` on. `number(o)`: that of
/// the place that output o chose.
template <int kOut, class Number>
__device__ __forceinline__ void store_indices(const PlaneIndices& index, index_t at, int first, int end,
                                              const int (&code)[kOut], Number number) {
  const auto codes = [&](int o) { return code[o]; };
  if (index.kind == IndexKind::code8) {
    store_values<std::uint8_t, kOut>(static_cast<std::uint8_t*>(index.data) + at, first, end, index.aligned, codes);
  } else if (index.kind == IndexKind::code32) {
    store_values<std::int32_t, kOut>(static_cast<std::int32_t*>(index.data) + at, first, end, index.aligned, codes);
  } else {
    const bool window = index.kind == IndexKind::window;
    store_values<std::int64_t, kOut>(static_cast<std::int64_t*>(index.data) + at, first, end, index.aligned,
                                     [&](int o) { return window ? code[o] : number(o); });
  }
}

/// Stores the index of the output at `along` in a plane: depth, row, column. `code` is its tap, `place` what that
/// reads.
__device__ __forceinline__ void store_plane_index(const PlaneIndices& index, index_t plane, const index_t (&along)[3],
                                                  index_t lane, int code, const index_t (&place)[3]) {
  const PlanePitches &p = index.pitch, &n = index.number;
  const index_t at = plane * p.plane + along[0] * p.depth + along[1] * p.row + along[2] * p.column + lane;
  switch (index.kind) {
    case IndexKind::none:
      return;
    case IndexKind::code8:
      return store(static_cast<std::uint8_t*>(index.data) + at, static_cast<std::uint8_t>(code));
    case IndexKind::code32:
      return store(static_cast<std::int32_t*>(index.data) + at, code);
    case IndexKind::window:
      return store(static_cast<std::int64_t*>(index.data) + at, static_cast<std::int64_t>(code));
    default: {
      const index_t number = plane * n.plane + place[0] * n.depth + place[1] * n.row + place[2] * n.column;
      return store(static_cast<std::int64_t*>(index.data) + at, number + lane * index.lane_number);
    }
  }
}

}  // namespace oriel::cuda
