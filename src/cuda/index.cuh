// Indices of extrema (S10): small codes for the backend's own use, int64 places for users.
#pragma once

#include "cuda/places.cuh"

namespace oriel::cuda {

/// How an index is stored. Codes number the taps of the largest window; the highest value of a small type is no tap.
enum class IndexKind : signed char { none, code8, code32, plane, tensor, window };

/// The narrowest code that tells the taps of a window apart.
inline IndexKind code_kind(index_t taps) {
  return taps < 255 ? IndexKind::code8 : taps < INT32_MAX ? IndexKind::code32 : IndexKind::window;
}
/// Bytes of an index.
inline index_t index_bytes(IndexKind kind) { return kind == IndexKind::code8 ? 1 : kind == IndexKind::code32 ? 4 : 8; }
/// How a user's indices are stored.
inline IndexKind index_kind(IndexSpace space, Dtype dtype) {
  if (dtype != Dtype::i64) return dtype == Dtype::u8 ? IndexKind::code8 : IndexKind::code32;
  return space == IndexSpace::plane    ? IndexKind::plane
         : space == IndexSpace::tensor ? IndexKind::tensor
                                       : IndexKind::window;
}

/// Indices in memory, and what turns a tap into one.
struct Indices {
  void* data = nullptr;
  IndexKind kind = IndexKind::none;
  index_t step[kMaxPooledAxes] = {};  // by pooled axis, of a place's number in the plane or the tensor
};

inline Indices make_indices(const Problem& problem, void* data, IndexKind kind) {
  Indices indices{.data = data, .kind = kind};
  const Extents tensor = dense_pitch(problem.shape);
  index_t plane = 1;
  for (int a = problem.pooled - 1; a >= 0; --a) {
    const int d = problem.axes[static_cast<std::size_t>(a)];
    indices.step[a] = kind == IndexKind::tensor ? tensor[d] : plane;
    plane *= problem.shape[d];
  }
  return indices;
}

/// The number of the input that tap `code` of the output at `along` reads, from that of its plane on.
__device__ __forceinline__ index_t place_number(const Windows& windows, const Indices& indices, const index_t* along,
                                                index_t code) {
  index_t number = 0;
  for (int a = windows.pooled - 1; a >= 0; --a) {
    const index_t k = windows.axis[a].kernel;
    number += windows.axis[a].at(along[a], code % k) * indices.step[a];
    code /= k;
  }
  return number;
}

/// Stores the index of one output; `code` -1: no tap.
__device__ __forceinline__ void store_index(const Windows& windows, const Indices& indices, const Place& place,
                                            index_t code) {
  const index_t at = place.offset[kOther];
  switch (indices.kind) {
    case IndexKind::none:
      return;
    case IndexKind::code8:
      return store(static_cast<std::uint8_t*>(indices.data) + at, static_cast<std::uint8_t>(code < 0 ? 255 : code));
    case IndexKind::code32:
      return store(static_cast<std::int32_t*>(indices.data) + at, static_cast<std::int32_t>(code));
    case IndexKind::window:
      return store(static_cast<std::int64_t*>(indices.data) + at, code);
    default: {
      index_t number = code;
      if (code >= 0) {
        number = place_number(windows, indices, place.along, code);
        if (indices.kind == IndexKind::tensor) number += place.offset[kNumber];
      }
      return store(static_cast<std::int64_t*>(indices.data) + at, number);
    }
  }
}

/// The index at an offset, as a number that own_index can equal.
__device__ __forceinline__ index_t load_index(const Indices& indices, index_t at) {
  switch (indices.kind) {
    case IndexKind::code8:
      return load(static_cast<const std::uint8_t*>(indices.data) + at);
    case IndexKind::code32:
      return load(static_cast<const std::int32_t*>(indices.data) + at);
    default:
      return load(static_cast<const std::int64_t*>(indices.data) + at);
  }
}

}  // namespace oriel::cuda
