// Tensors placed in memory in every way a caller may place them, between guard bytes that must survive.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "oriel/tensor.h"

namespace oriel::test {

enum class Layout { dense, reversed_axes, channels_last, sliced, backward_pitch, broadcast };

inline constexpr Layout kWritableLayouts[] = {Layout::dense, Layout::reversed_axes, Layout::channels_last,
                                              Layout::sliced, Layout::backward_pitch};

inline std::string name(Layout layout) {
  const char* names[] = {"dense", "reversed_axes", "channels_last", "sliced", "backward_pitch", "broadcast"};
  return names[static_cast<int>(layout)];
}

/// Elements of a tensor and the memory around them.
class Placed {
 public:
  /// A tensor holding the dense row-major `elements`; null: filled with a pattern.
  Placed(Dtype dtype, const Extents& shape, Layout layout, const void* elements, const Extents& order = {}) {
    const int rank = shape.size();
    Extents roomy = shape;
    Extents pitch = dense_pitch(shape, order);
    if (layout == Layout::sliced) {
      for (index_t& extent : roomy) extent = 2 * extent + 1;  // every other element of every axis
      pitch = dense_pitch(roomy, order);
      for (index_t& p : pitch) p *= 2;
    } else if (layout == Layout::reversed_axes || layout == Layout::channels_last) {
      Extents other;
      for (int a = 0; a < rank; ++a)
        other.push_back(layout == Layout::reversed_axes ? rank - 1 - a
                        : rank < 3 || a == 0            ? a
                        : a == rank - 1                 ? 1
                                                        : a + 1);
      pitch = dense_pitch(shape, other);
    } else if (layout == Layout::backward_pitch) {
      for (index_t& p : pitch) p = -p;
    } else if (layout == Layout::broadcast) {
      pitch[0] = 0;
    }
    view_ = Tensor(nullptr, dtype, shape, pitch);
    const ByteSpan span = byte_span(view_);
    memory_.assign(static_cast<std::size_t>(span.end - span.begin + 2 * kGuard), std::byte{0xa5});
    view_.data = memory_.data() + kGuard - span.begin;
    if (elements != nullptr) {
      const std::size_t bytes = static_cast<std::size_t>(size_bytes(dtype));
      std::size_t i = 0;
      each([&](std::byte* at) { std::memcpy(at, static_cast<const std::byte*>(elements) + bytes * i++, bytes); });
    }
    before_ = memory_;
  }

  const Tensor& view() const { return view_; }

  /// The elements, dense and row-major.
  std::vector<std::byte> dense() const {
    std::vector<std::byte> out;
    const std::size_t bytes = static_cast<std::size_t>(size_bytes(view_.dtype));
    each([&](const std::byte* at) { out.insert(out.end(), at, at + bytes); });
    return out;
  }

  /// True when every byte that belongs to no element is as it was.
  bool guards_survive() const {
    std::vector<std::byte> now = memory_;
    const std::size_t bytes = static_cast<std::size_t>(size_bytes(view_.dtype));
    each([&](const std::byte* at) {
      const std::ptrdiff_t offset = at - memory_.data();
      std::memcpy(now.data() + offset, before_.data() + offset, bytes);
    });
    return now == before_;
  }

  /// True when nothing at all changed.
  bool untouched() const { return memory_ == before_; }

 private:
  static constexpr index_t kGuard = 64;

  template <class F>
  void each(F f) const {
    const index_t count = element_count(view_.shape);
    const index_t bytes = size_bytes(view_.dtype);
    for (index_t i = 0; i < count; ++i) {
      index_t rest = i, offset = 0;
      for (int a = view_.rank() - 1; a >= 0; --a) {
        offset += rest % view_.shape[a] * view_.pitch[a];
        rest /= view_.shape[a];
      }
      f(static_cast<std::byte*>(view_.data) + offset * bytes);
    }
  }

  Tensor view_;
  std::vector<std::byte> memory_, before_;
};

}  // namespace oriel::test
