#include "distributed/box_copy.h"

#include <cstring>

#include "element_copy.h"

namespace oriel::distributed {
namespace {

using detail::each_row;

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

void copy(const ConstTensor& from, const Tensor& to) { detail::copy_elements(from, to); }

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

void fill(const Tensor& to, const void* value) { detail::fill_elements(to, value); }

}  // namespace oriel::distributed
