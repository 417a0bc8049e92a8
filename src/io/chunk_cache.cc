#include "io/chunk_cache.h"

#include <algorithm>
#include <cstring>

namespace oriel::io {
namespace {

// The box that two boxes have in common.
struct Common {
  Extents begin, shape;
};
Common common(const Extents& a, const Extents& a_shape, const Extents& b, const Extents& b_shape) {
  Common c{a, a_shape};
  for (int d = 0; d < a.size(); ++d) {
    c.begin[d] = std::max(a[d], b[d]);
    c.shape[d] = std::min(a[d] + a_shape[d], b[d] + b_shape[d]) - c.begin[d];
  }
  return c;
}

// Copies `from` to `to`, both of one shape and with elements that lie together along the last axis, row by row.
void copy_rows(const ConstTensor& from, const Tensor& to, int axis, const std::byte* source, std::byte* target) {
  const index_t size = size_bytes(from.dtype);
  if (axis == from.rank() - 1) {
    std::memcpy(target, source, static_cast<std::size_t>(from.shape[axis] * size));
    return;
  }
  for (index_t i = 0; i < from.shape[axis]; ++i)
    copy_rows(from, to, axis + 1, source + i * from.pitch[axis] * size, target + i * to.pitch[axis] * size);
}

// `t` without what lies before `begin`, of another shape.
template <class T>
T part_of(T t, const Extents& begin, const Extents& shape) {
  index_t first = 0;
  for (int d = 0; d < begin.size(); ++d) first += begin[d] * t.pitch[d];
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(t.data)>>, const std::byte, std::byte>;
  t.data = static_cast<Byte*>(t.data) + first * size_bytes(t.dtype);
  t.shape = shape;
  return t;
}

Extents minus(Extents a, const Extents& b) {
  for (int d = 0; d < a.size(); ++d) a[d] -= b[d];
  return a;
}

}  // namespace

void for_each_chunk(const Extents& chunk, const Extents& begin, const Extents& box,
                    const std::function<void(const Extents&)>& f) {
  if (element_count(box) == 0) return;
  Extents first = begin, last = begin;
  for (int d = 0; d < begin.size(); ++d) {
    first[d] = begin[d] / chunk[d];
    last[d] = (begin[d] + box[d] - 1) / chunk[d];
  }
  Extents at = first;
  for (;;) {
    f(at);
    int d = at.size() - 1;
    for (; d >= 0 && at[d] == last[d]; --d) at[d] = first[d];
    if (d < 0) return;
    ++at[d];
  }
}

ChunkCache::ChunkCache(VolumeIn& volume, index_t slots, NextUse next_use)
    : volume_(volume),
      next_use_(std::move(next_use)),
      slots_(static_cast<std::size_t>(std::max<index_t>(slots - 1, 0))) {}

ChunkCache::Slot* ChunkCache::find(const Extents& chunk) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.chunk == chunk; });
  return found == slots_.end() ? nullptr : &*found;
}

// A free slot, or that of the chunk which is asked for later than all others, and later than `next_use`.
ChunkCache::Slot* ChunkCache::room_for(index_t next_use) {
  Slot* latest = nullptr;
  for (Slot& slot : slots_) {
    if (slot.chunk.size() == 0) return &slot;
    if (latest == nullptr || slot.next_use > latest->next_use) latest = &slot;
  }
  return latest != nullptr && latest->next_use > next_use ? latest : nullptr;
}

Tensor ChunkCache::view_of(const Slot& slot, const Extents& shape) const {
  return {slot.values.view.data, volume_.dtype, shape};
}

// The part of `to`, which begins at `begin`, that lies in the chunk that the slot holds.
void ChunkCache::copy_part(const Slot& slot, const Extents& begin, const Tensor& to) const {
  Extents chunk_begin = slot.chunk, chunk_shape = slot.chunk;
  for (int d = 0; d < begin.size(); ++d) {
    chunk_begin[d] = slot.chunk[d] * volume_.chunk[d];
    chunk_shape[d] = std::min(volume_.chunk[d], volume_.shape[d] - chunk_begin[d]);
  }
  const Common c = common(begin, to.shape, chunk_begin, chunk_shape);
  const ConstTensor from = part_of(ConstTensor(view_of(slot, chunk_shape)), minus(c.begin, chunk_begin), c.shape);
  const Tensor target = part_of(to, minus(c.begin, begin), c.shape);
  copy_rows(from, target, 0, static_cast<const std::byte*>(from.data), static_cast<std::byte*>(target.data));
}

void ChunkCache::read_chunk(const Extents& chunk, const Extents& begin, const Tensor& to) {
  const index_t next_use = next_use_(chunk);
  Slot* const kept = next_use < 0 ? nullptr : room_for(next_use);
  Slot& slot = kept != nullptr ? *kept : passing_;
  slot.chunk = chunk;
  slot.next_use = next_use;
  if (!slot.values.memory) slot.values = allocate(volume_.dtype, {element_count(volume_.chunk)});
  Extents at = chunk, shape = chunk;
  for (int d = 0; d < chunk.size(); ++d) {
    at[d] = chunk[d] * volume_.chunk[d];
    shape[d] = std::min(volume_.chunk[d], volume_.shape[d] - at[d]);
  }
  volume_.read(at, view_of(slot, shape));
  ++reads_;
  copy_part(slot, begin, to);
}

void ChunkCache::read(const Extents& begin, const Tensor& to) {
  std::vector<Extents> missing;
  bool alone = true;  // no chunk of it was kept, and none is worth keeping
  for_each_chunk(volume_.chunk, begin, to.shape, [&](const Extents& chunk) {
    Slot* const slot = find(chunk);
    if (slot == nullptr) {
      missing.push_back(chunk);
      alone = alone && (slots_.empty() || next_use_(chunk) < 0);
      return;
    }
    alone = false;
    copy_part(*slot, begin, to);
    slot->next_use = next_use_(chunk);
    if (slot->next_use < 0) slot->chunk = {};
  });
  if (alone) {
    reads_ += static_cast<index_t>(missing.size());
    return volume_.read(begin, to);
  }
  for (const Extents& chunk : missing) read_chunk(chunk, begin, to);
}

}  // namespace oriel::io
