// Non-owning views of memory as tensors, with any pitch.
#pragma once

#include <concepts>
#include <ranges>

#include "oriel/types.h"

namespace oriel {

/// Where a tensor's memory is.
enum class Device : std::uint8_t { cpu, cuda };

/// Pitches, in elements, of a dense tensor whose axes have the order `order` in memory (outermost first; empty: 0,1,2
/// …).
ORIEL_API Extents dense_pitch(const Extents& shape, const Extents& order = {});

/// The axes of a tensor with these pitches, from outermost to innermost in memory; among equal pitches the first axis
/// is outermost.
ORIEL_API Extents memory_order(const Extents& pitch);

/// The product of the extents; throws Error if it exceeds 2^63 - 1.
ORIEL_API index_t element_count(const Extents& shape);

/// A contiguous range of elements that a tensor can be made of: std::vector<float>, std::span<const double>, an array.
template <class R>
concept ElementRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && requires {
  dtype_of<std::remove_cv_t<std::ranges::range_value_t<R>>>::value;
};

/// A view of elements with an extent and a stride along each axis: std::mdspan of a strided layout, and similar types.
template <class M>
concept StridedView = requires(const M& m, typename M::rank_type r) {
  { M::rank() } -> std::convertible_to<int>;
  { m.extent(r) } -> std::convertible_to<index_t>;
  { m.stride(r) } -> std::convertible_to<index_t>;
  { m.data_handle() } -> std::convertible_to<const typename M::element_type*>;
  dtype_of<std::remove_cv_t<typename M::element_type>>::value;
};

namespace detail {

// Extents and pitches of an mdspan.
template <StridedView M>
struct StridedAxes {
  Extents shape, pitch;

  explicit StridedAxes(const M& m) {
    for (typename M::rank_type r = 0; r < M::rank(); ++r) {
      shape.push_back(static_cast<index_t>(m.extent(r)));
      pitch.push_back(static_cast<index_t>(m.stride(r)));
    }
  }
};

// Throws Error if a dense tensor of that shape has another number of elements.
ORIEL_API void check_element_count(std::size_t given, const Extents& shape);

}  // namespace detail

/// A view of const elements: `data` is element (0, …, 0); element (i, j, …) is at data + (i*pitch[0] + j*pitch[1] + …)
/// elements. A pitch may be zero (broadcast) or negative (reversed). The view owns nothing. A default-constructed view
/// means that no tensor is given.
struct ConstTensor {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents pitch;
  Device device = Device::cpu;

  ConstTensor() {}  // not defaulted: `{}` would set all extents
  ConstTensor(const void* first, Dtype type, const Extents& extents, const Extents& pitches, Device where = Device::cpu)
      : data(first), dtype(type), shape(extents), pitch(pitches), device(where) {}
  ConstTensor(const void* first, Dtype type, const Extents& extents)
      : data(first), dtype(type), shape(extents), pitch(dense_pitch(extents)) {}
  /// A dense view; the element type gives the dtype. Example: ConstTensor x(values.data(), {1, 3, 224, 224});
  template <class T>
  ConstTensor(const T* first, const Extents& extents) : ConstTensor(first, dtype_v<T>, extents) {}
  /// The same for a range, which must have as many elements as the shape: throws Error otherwise. Example: ConstTensor
  /// x(values, {1, 3, 224, 224});
  template <ElementRange R>
  ConstTensor(const R& values, const Extents& extents) : ConstTensor(std::ranges::data(values), extents) {
    detail::check_element_count(std::ranges::size(values), extents);
  }
  /// The same elements as an mdspan.
  template <StridedView M>
  explicit ConstTensor(const M& view) : ConstTensor(view, detail::StridedAxes<M>(view)) {}

  int rank() const { return shape.size(); }
  /// Whether a tensor was given at all.
  bool given() const { return data != nullptr || !shape.empty(); }

 private:
  template <class M>
  ConstTensor(const M& view, const detail::StridedAxes<M>& axes)
      : ConstTensor(view.data_handle(), dtype_v<typename M::element_type>, axes.shape, axes.pitch) {}
};

/// A view of elements that may be written; see ConstTensor.
struct Tensor {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents pitch;
  Device device = Device::cpu;

  Tensor() {}  // not defaulted: `{}` would set all extents
  Tensor(void* first, Dtype type, const Extents& extents, const Extents& pitches, Device where = Device::cpu)
      : data(first), dtype(type), shape(extents), pitch(pitches), device(where) {}
  Tensor(void* first, Dtype type, const Extents& extents)
      : data(first), dtype(type), shape(extents), pitch(dense_pitch(extents)) {}
  template <class T>
  requires(!std::is_const_v<T>) Tensor(T* first, const Extents& extents) : Tensor(first, dtype_v<T>, extents) {}
  /// The range must outlive the view: a temporary vector does not compile, a span does.
  template <ElementRange R>
  requires(std::ranges::borrowed_range<R> &&
           !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
      Tensor(R&& values, const Extents& extents)
      : Tensor(std::ranges::data(values), extents) {
    detail::check_element_count(std::ranges::size(values), extents);
  }
  template <StridedView M>
  requires(!std::is_const_v<typename M::element_type>) explicit Tensor(const M& view)
      : Tensor(view, detail::StridedAxes<M>(view)) {}

  int rank() const { return shape.size(); }
  bool given() const { return data != nullptr || !shape.empty(); }
  operator ConstTensor() const { return {data, dtype, shape, pitch, device}; }

 private:
  template <class M>
  Tensor(const M& view, const detail::StridedAxes<M>& axes)
      : Tensor(view.data_handle(), dtype_v<typename M::element_type>, axes.shape, axes.pitch) {}
};

/// The bytes [begin, end) that a view can touch, relative to its data pointer; empty for an empty view.
struct ByteSpan {
  index_t begin = 0;
  index_t end = 0;
};
ORIEL_API ByteSpan byte_span(const ConstTensor& t);

/// Whether some bytes may belong to both views (judged by the memory that they span).
ORIEL_API bool may_overlap(const ConstTensor& a, const ConstTensor& b);
/// The same for two pointers and the bytes that the views at them can touch, on one device.
ORIEL_API bool may_overlap(const void* a, ByteSpan a_span, const void* b, ByteSpan b_span);

/// Whether two elements of the view may share memory, as in a broadcast view: such a view cannot be written.
ORIEL_API bool may_self_overlap(const ConstTensor& t);

}  // namespace oriel
