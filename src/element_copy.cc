#include "element_copy.h"

#include <cstring>

namespace oriel::detail {
namespace {

// Joins the last axes where both sides run on.
void join(Extents& shape, Extents& a, Extents& b) {
  const auto pop = [](Extents& list) {
    Extents shorter;
    for (int i = 0; i + 1 < list.size(); ++i) shorter.push_back(list[i]);
    list = shorter;
  };
  while (shape.size() > 1) {
    const int last = shape.size() - 1;
    if (a[last - 1] != a[last] * shape[last] || b[last - 1] != b[last] * shape[last]) return;
    shape[last - 1] *= shape[last];
    a[last - 1] = a[last];
    b[last - 1] = b[last];
    pop(shape);
    pop(a);
    pop(b);
  }
}

template <index_t kBytes>
void copy_row_of(const std::byte* from, index_t from_pitch, std::byte* to, index_t to_pitch, index_t n) {
  for (index_t i = 0; i < n; ++i) std::memcpy(to + i * to_pitch * kBytes, from + i * from_pitch * kBytes, kBytes);
}

void copy_row(const std::byte* from, index_t from_pitch, std::byte* to, index_t to_pitch, index_t n, index_t bytes) {
  if (from_pitch == 1 && to_pitch == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n * bytes));
  } else if (bytes == 1) {
    copy_row_of<1>(from, from_pitch, to, to_pitch, n);
  } else if (bytes == 2) {
    copy_row_of<2>(from, from_pitch, to, to_pitch, n);
  } else if (bytes == 4) {
    copy_row_of<4>(from, from_pitch, to, to_pitch, n);
  } else {
    copy_row_of<8>(from, from_pitch, to, to_pitch, n);
  }
}

}  // namespace

void copy_elements(const ConstTensor& from, const Tensor& to) {
  Extents shape = from.shape, a = from.pitch, b = to.pitch;
  const index_t bytes = size_bytes(from.dtype);
  join(shape, a, b);
  const int last = shape.size() - 1;
  each_row(shape, a, b, [&](index_t i, index_t o) {
    copy_row(static_cast<const std::byte*>(from.data) + i * bytes, a[last],
             static_cast<std::byte*>(to.data) + o * bytes, b[last], shape[last], bytes);
  });
}

void fill_elements(const Tensor& to, const void* value) {
  const Extents still = Extents::filled(to.rank(), 0);
  const index_t bytes = size_bytes(to.dtype);
  const int last = to.rank() - 1;
  each_row(to.shape, to.pitch, still, [&](index_t o, index_t) {
    copy_row(static_cast<const std::byte*>(value), 0, static_cast<std::byte*>(to.data) + o * bytes, to.pitch[last],
             to.shape[last], bytes);
  });
}

}  // namespace oriel::detail
