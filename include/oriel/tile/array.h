// Dense arrays in host memory, which kernels take and return.
#pragma once

#include <memory>

#include "oriel/tensor.h"
#include "oriel/tile/ir.h"

namespace oriel::tile {

namespace detail {
/// A number as an element.
template <class T>
T element_of(double value) {
  if constexpr (std::is_same_v<T, bool8>)
    return bool8(value != 0);
  else
    return static_cast<T>(value);
}
}  // namespace detail

namespace nki {

/// What a kernel is specialised for: a tensor's dtype and shape.
struct meta {
  Dtype dtype = Dtype::f32;
  Extents shape;
};

/// A dense array that owns its memory; copies share it.
class array {
 public:
  array() = default;
  /// Uninitialised. Throws Error for sizes beyond 2^63 - 1.
  array(Dtype dtype, const Extents& shape)
      : dtype_(dtype),
        shape_(shape),
        data_(std::make_shared_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(element_count(shape) * size_bytes(dtype)))) {}
  /// 0, 1, 2, … in that dtype. Example: nki::array x = nki::array::arange(Dtype::f16, {2, 6, 6});
  static array arange(Dtype dtype, const Extents& shape) {
    array out(dtype, shape);
    visit(dtype, [&]<class T>() {
      for (index_t i = 0; i < out.size(); ++i) out.data<T>()[i] = detail::element_of<T>(static_cast<double>(i));
    });
    return out;
  }

  Dtype dtype() const { return dtype_; }
  const Extents& shape() const { return shape_; }
  index_t size() const { return element_count(shape_); }
  index_t bytes() const { return size() * size_bytes(dtype_); }
  void* data() const { return data_.get(); }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(data_.get());
  }
  /// Element i of the flat array as a double.
  double at(index_t i) const {
    return visit(dtype_, [&]<class T>() { return static_cast<double>(data<T>()[i]); });
  }
  nki::meta meta() const { return {dtype_, shape_}; }
  operator ConstTensor() const { return {data(), dtype_, shape_}; }
  operator Tensor() const { return {data(), dtype_, shape_}; }

 private:
  Dtype dtype_ = Dtype::f32;
  Extents shape_;
  std::shared_ptr<std::byte[]> data_;
};

}  // namespace nki
}  // namespace oriel::tile
