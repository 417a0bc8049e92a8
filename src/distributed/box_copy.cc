#include "distributed/box_copy.h"

#include <cstring>

namespace oriel::distributed {
namespace {

std::size_t size(index_t n) { return static_cast<std::size_t>(n); }

// Calls row(offset a, offset b) for each row along the last axis, in elements.
template <class Row>
void each_row(const Extents& shape, const Extents& a, const Extents& b, const Row& row) {
  for (index_t n : shape) {
    if (n == 0) return;
  }
  const int last = shape.size() - 1;
  Extents at = Extents::filled(shape.size(), 0);
  index_t at_a = 0, at_b = 0;
  while (true) {
    row(at_a, at_b);
    int d = last - 1;
    for (; d >= 0; --d) {
      at_a += a[d];
      at_b += b[d];
      if (++at[d] < shape[d]) break;
      at_a -= at[d] * a[d];
      at_b -= at[d] * b[d];
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

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
void copy_elements(const std::byte* from, index_t from_pitch, std::byte* to, index_t to_pitch, index_t n) {
  for (index_t i = 0; i < n; ++i) std::memcpy(to + i * to_pitch * kBytes, from + i * from_pitch * kBytes, kBytes);
}

void copy_row(const std::byte* from, index_t from_pitch, std::byte* to, index_t to_pitch, index_t n, index_t bytes) {
  if (from_pitch == 1 && to_pitch == 1) {
    std::memcpy(to, from, size(n * bytes));
  } else if (bytes == 1) {
    copy_elements<1>(from, from_pitch, to, to_pitch, n);
  } else if (bytes == 2) {
    copy_elements<2>(from, from_pitch, to, to_pitch, n);
  } else if (bytes == 4) {
    copy_elements<4>(from, from_pitch, to, to_pitch, n);
  } else {
    copy_elements<8>(from, from_pitch, to, to_pitch, n);
  }
}

// The greatest code says that there is no tap.
template <class Code>
void pack_row(const std::int64_t* from, index_t pitch, std::byte* to, index_t n) {
  for (index_t i = 0; i < n; ++i) {
    const Code code = static_cast<Code>(from[i * pitch]);  // -1 becomes the greatest
    std::memcpy(to + i * static_cast<index_t>(sizeof code), &code, sizeof code);
  }
}

template <class Code>
void unpack_row(const std::byte* from, std::int64_t* to, index_t pitch, index_t n) {
  for (index_t i = 0; i < n; ++i) {
    Code code;
    std::memcpy(&code, from + i * static_cast<index_t>(sizeof code), sizeof code);
    to[i * pitch] = code == static_cast<Code>(-1) ? -1 : static_cast<std::int64_t>(code);
  }
}

index_t offset_of(const Box& whole, const Box& part, const Extents& pitch) {
  index_t offset = 0;
  for (int d = 0; d < pitch.size(); ++d) offset += (part.begin[d] - whole.begin[d]) * pitch[d];
  return offset;
}

}  // namespace

Tensor view_of(const Tensor& t, const Box& whole, const Box& part) {
  Tensor view = t;
  view.shape = part.shape();
  if (!part.empty()) {
    view.data = static_cast<std::byte*>(t.data) + offset_of(whole, part, t.pitch) * size_bytes(t.dtype);
  }
  return view;
}

ConstTensor view_of(const ConstTensor& t, const Box& whole, const Box& part) {
  ConstTensor view = t;
  view.shape = part.shape();
  if (!part.empty()) {
    view.data = static_cast<const std::byte*>(t.data) + offset_of(whole, part, t.pitch) * size_bytes(t.dtype);
  }
  return view;
}

void copy(const ConstTensor& from, const Tensor& to) {
  Extents shape = from.shape, a = from.pitch, b = to.pitch;
  const index_t bytes = size_bytes(from.dtype);
  join(shape, a, b);
  const int last = shape.size() - 1;
  each_row(shape, a, b, [&](index_t i, index_t o) {
    copy_row(static_cast<const std::byte*>(from.data) + i * bytes, a[last],
             static_cast<std::byte*>(to.data) + o * bytes, b[last], shape[last], bytes);
  });
}

index_t code_bytes(index_t taps) { return taps < 0xff ? 1 : taps < 0xffff ? 2 : taps < 0xffffffff ? 4 : 8; }

void pack_codes(const ConstTensor& places, index_t bytes, std::byte* codes) {
  const Extents dense = dense_pitch(places.shape);
  const int last = places.rank() - 1;
  const index_t n = places.shape[last], pitch = places.pitch[last];
  each_row(places.shape, places.pitch, dense, [&](index_t i, index_t o) {
    const std::int64_t* from = static_cast<const std::int64_t*>(places.data) + i;
    std::byte* to = codes + o * bytes;
    if (bytes == 1) return pack_row<std::uint8_t>(from, pitch, to, n);
    if (bytes == 2) return pack_row<std::uint16_t>(from, pitch, to, n);
    if (bytes == 4) return pack_row<std::uint32_t>(from, pitch, to, n);
    pack_row<std::uint64_t>(from, pitch, to, n);
  });
}

void unpack_codes(const std::byte* codes, index_t bytes, const Box& whole, const Box& part, const Tensor& places) {
  const Extents dense = dense_pitch(whole.shape());
  const std::byte* first = codes + offset_of(whole, part, dense) * bytes;
  const int last = places.rank() - 1;
  const index_t n = places.shape[last], pitch = places.pitch[last];
  each_row(places.shape, dense, places.pitch, [&](index_t i, index_t o) {
    const std::byte* from = first + i * bytes;
    std::int64_t* to = static_cast<std::int64_t*>(places.data) + o;
    if (bytes == 1) return unpack_row<std::uint8_t>(from, to, pitch, n);
    if (bytes == 2) return unpack_row<std::uint16_t>(from, to, pitch, n);
    if (bytes == 4) return unpack_row<std::uint32_t>(from, to, pitch, n);
    unpack_row<std::uint64_t>(from, to, pitch, n);
  });
}

void fill(const Tensor& to, const void* value) {
  const Extents still = Extents::filled(to.rank(), 0);
  const index_t bytes = size_bytes(to.dtype);
  const int last = to.rank() - 1;
  each_row(to.shape, to.pitch, still, [&](index_t o, index_t) {
    copy_row(static_cast<const std::byte*>(value), 0, static_cast<std::byte*>(to.data) + o * bytes, to.pitch[last],
             to.shape[last], bytes);
  });
}

}  // namespace oriel::distributed
