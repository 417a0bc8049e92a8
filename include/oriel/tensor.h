// Non-owning views of memory as tensors, with any pitch.
#pragma once

#include "oriel/types.h"

namespace oriel {

/// Where a tensor's memory is.
enum class Device : std::uint8_t { cpu, cuda };

/// Pitches, in elements, of a dense tensor whose axes lie in memory in `order` (outermost first; empty: 0,1,2 …).
ORIEL_API Extents dense_pitch(const Extents& shape, const Extents& order = {});

/// The axes of a tensor of these pitches from outermost to innermost in memory; of equal ones the first is outermost.
ORIEL_API Extents memory_order(const Extents& pitch);

/// The product of the extents; throws Error when it exceeds 2^63 - 1.
ORIEL_API index_t element_count(const Extents& shape);

/// A view of const elements: `data` is element (0, …, 0); element (i, j, …) is at data + (i*pitch[0] + j*pitch[1] + …)
/// elements. A pitch may be zero (broadcast) or negative (reversed). The view owns nothing.
struct ConstTensor {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents pitch;
  Device device = Device::cpu;

  ConstTensor() = default;
  ConstTensor(const void* first, Dtype type, const Extents& extents, const Extents& pitches, Device where = Device::cpu)
      : data(first), dtype(type), shape(extents), pitch(pitches), device(where) {}
  ConstTensor(const void* first, Dtype type, const Extents& extents)
      : data(first), dtype(type), shape(extents), pitch(dense_pitch(extents)) {}
  /// A dense view; the element type gives the dtype. Example: ConstTensor x(values.data(), {1, 3, 224, 224});
  template <class T>
  ConstTensor(const T* first, const Extents& extents) : ConstTensor(first, dtype_v<T>, extents) {}

  int rank() const { return shape.size(); }
};

/// A view of elements that may be written; see ConstTensor.
struct Tensor {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents pitch;
  Device device = Device::cpu;

  Tensor() = default;
  Tensor(void* first, Dtype type, const Extents& extents, const Extents& pitches, Device where = Device::cpu)
      : data(first), dtype(type), shape(extents), pitch(pitches), device(where) {}
  Tensor(void* first, Dtype type, const Extents& extents)
      : data(first), dtype(type), shape(extents), pitch(dense_pitch(extents)) {}
  template <class T>
  Tensor(T* first, const Extents& extents) : Tensor(first, dtype_v<T>, extents) {}

  int rank() const { return shape.size(); }
  operator ConstTensor() const { return {data, dtype, shape, pitch, device}; }
};

/// The bytes [begin, end) that a view can touch, relative to its data pointer; empty for an empty view.
struct ByteSpan {
  index_t begin = 0;
  index_t end = 0;
};
ORIEL_API ByteSpan byte_span(const ConstTensor& t);

/// True when some bytes may belong to both views (judged by the memory they span).
ORIEL_API bool may_overlap(const ConstTensor& a, const ConstTensor& b);
/// The same of two pointers and the bytes that the views at them can touch, on one device.
ORIEL_API bool may_overlap(const void* a, ByteSpan a_span, const void* b, ByteSpan b_span);

/// True when two elements of the view may share memory, as in a broadcast view: such a view cannot be written.
ORIEL_API bool may_self_overlap(const ConstTensor& t);

}  // namespace oriel
