#include "pyramid/chunk_board.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "element_copy.h"

namespace oriel {

void PyramidSink::write_uniform(int level, const Extents& begin, const Extents& shape, const void* element,
                                Dtype dtype) {
  std::vector<std::byte> data(static_cast<std::size_t>(element_count(shape) * size_bytes(dtype)));
  const Tensor chunk(data.data(), dtype, shape);
  detail::fill_elements(chunk, element);
  write(level, begin, chunk);
}

void PyramidSink::write_part(int, const Extents&, const ConstTensor&) {
  throw Error("pyramid: this sink takes whole chunks, but several ranks share some; allowed: one that has write_part");
}

namespace detail {
namespace {

index_t offset_of(const Extents& place, const Extents& pitch) {
  index_t offset = 0;
  for (int d = 0; d < place.size(); ++d) offset += place[d] * pitch[d];
  return offset;
}

Tensor view(const Tensor& t, const Extents& begin, const Extents& shape) {
  Tensor part = t;
  part.data = static_cast<std::byte*>(t.data) + offset_of(begin, t.pitch) * size_bytes(t.dtype);
  part.shape = shape;
  return part;
}

ConstTensor view(const ConstTensor& t, const Extents& begin, const Extents& shape) {
  ConstTensor part = t;
  part.data = static_cast<const std::byte*>(t.data) + offset_of(begin, t.pitch) * size_bytes(t.dtype);
  part.shape = shape;
  return part;
}

}  // namespace

template <class Use>
void ChunkBoard::for_each_part(int level, const LevelBox& box, const Use& use) const {
  const Extents& chunk = plan_.chunks[static_cast<std::size_t>(level)];
  const Extents& whole = plan_.levels[static_cast<std::size_t>(level)].shape;
  Extents first, last, at;
  for (int d = 0; d < chunk.size(); ++d) {
    first.push_back(box.begin[d] / chunk[d]);
    last.push_back((box.begin[d] + box.shape[d] - 1) / chunk[d]);
  }
  at = first;
  for (;;) {
    Part part;
    for (int d = 0; d < chunk.size(); ++d) {
      const index_t begin = at[d] * chunk[d], end = std::min(begin + chunk[d], whole[d]);
      const index_t from = std::max(begin, box.begin[d]), to = std::min(end, box.begin[d] + box.shape[d]);
      part.chunk_begin.push_back(begin);
      part.chunk_shape.push_back(end - begin);
      part.in_chunk.push_back(from - begin);
      part.in_box.push_back(from - box.begin[d]);
      part.shape.push_back(to - from);
      part.key = part.key * ceil_div(whole[d], chunk[d]) + at[d];
    }
    use(part);
    int d = chunk.size() - 1;
    for (; d >= 0 && ++at[d] > last[d]; --d) at[d] = first[d];
    if (d < 0) return;
  }
}

void ChunkBoard::hold(index_t bytes) {
  bytes_ += bytes;
  most_bytes_ = std::max(most_bytes_, bytes_);
}

Tensor ChunkBoard::chunk_tensor(int level, const Part& part, Open& chunk) const {
  return {chunk.data.data(), plan_.levels[static_cast<std::size_t>(level)].dtype, part.chunk_shape};
}

void ChunkBoard::put(int level, const LevelBox& box, const ConstTensor& values) {
  for_each_part(level, box, [&](const Part& part) {
    const ConstTensor from = view(values, part.in_box, part.shape);
    if (!part.whole()) return add(level, part, &from, nullptr);
    sink_.write(level, part.chunk_begin, from);
    const std::lock_guard lock(mutex_);
    ++written_;
  });
}

void ChunkBoard::put_uniform(int level, const LevelBox& box, const void* element) {
  for_each_part(level, box, [&](const Part& part) {
    if (!part.whole()) return add(level, part, nullptr, element);
    const Dtype dtype = plan_.levels[static_cast<std::size_t>(level)].dtype;
    sink_.write_uniform(level, part.chunk_begin, part.chunk_shape, element, dtype);
    const std::lock_guard lock(mutex_);
    ++uniform_;
  });
}

// The elements of a chunk, of which there was one value so far.
void ChunkBoard::make_data(int level, const Part& part, Open& chunk) {
  const Dtype dtype = plan_.levels[static_cast<std::size_t>(level)].dtype;
  const index_t bytes = element_count(part.chunk_shape) * size_bytes(dtype);
  chunk.data.resize(static_cast<std::size_t>(bytes));
  hold(bytes);
  for (const LevelBox& box : chunk.uniform) {
    fill_elements(view(chunk_tensor(level, part, chunk), box.begin, box.shape), chunk.element.data());
  }
  chunk.uniform.clear();
}

// A part of a chunk: values, or one value.
void ChunkBoard::add(int level, const Part& part, const ConstTensor* values, const void* element) {
  const Dtype dtype = plan_.levels[static_cast<std::size_t>(level)].dtype;
  const auto size = static_cast<std::size_t>(size_bytes(dtype));
  auto& chunks = open_[static_cast<std::size_t>(level)];
  Open* chunk = nullptr;
  std::optional<Tensor> to;  // nothing while the chunk has one value
  {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = chunks.try_emplace(part.key);
    chunk = &found->second;
    if (is_new) chunk->left = element_count(part.chunk_shape);
    if (shared_) chunk->parts.push_back({part.in_chunk, part.shape});
    if (element != nullptr && chunk->data.empty() &&
        (chunk->element.empty() || std::memcmp(chunk->element.data(), element, size) == 0)) {
      const auto* const first = static_cast<const std::byte*>(element);
      if (chunk->element.empty()) chunk->element.assign(first, first + size);
      chunk->uniform.push_back({part.in_chunk, part.shape});
    } else {
      if (chunk->data.empty()) make_data(level, part, *chunk);
      to = view(chunk_tensor(level, part, *chunk), part.in_chunk, part.shape);
    }
  }
  // No other part has these elements, and the chunk is not given away before they are counted.
  if (to && values != nullptr) copy_elements(*values, *to);
  if (to && values == nullptr) fill_elements(*to, element);
  std::optional<Open> whole;
  {
    const std::lock_guard lock(mutex_);
    chunk->left -= element_count(part.shape);
    if (chunk->left == 0) {
      whole.emplace(std::move(*chunk));
      chunks.erase(part.key);
    }
  }
  if (whole) give(level, part, std::move(*whole));
}

void ChunkBoard::give(int level, const Part& part, Open chunk) {
  const bool uniform = chunk.data.empty();
  if (uniform) {
    const Dtype dtype = plan_.levels[static_cast<std::size_t>(level)].dtype;
    sink_.write_uniform(level, part.chunk_begin, part.chunk_shape, chunk.element.data(), dtype);
  } else {
    sink_.write(level, part.chunk_begin, chunk_tensor(level, part, chunk));
  }
  const std::lock_guard lock(mutex_);
  hold(-static_cast<index_t>(chunk.data.size()));
  ++(uniform ? uniform_ : written_);
}

ChunkBoard::Part ChunkBoard::whole_chunk(int level, index_t key) const {
  const Extents& chunk = plan_.chunks[static_cast<std::size_t>(level)];
  const Extents& whole = plan_.levels[static_cast<std::size_t>(level)].shape;
  Part part;
  part.key = key;
  part.chunk_begin = part.chunk_shape = part.in_chunk = part.in_box = Extents::filled(chunk.size(), 0);
  for (int d = chunk.size() - 1; d >= 0; --d) {
    const index_t count = ceil_div(whole[d], chunk[d]);
    part.chunk_begin[d] = key % count * chunk[d];
    part.chunk_shape[d] = std::min(chunk[d], whole[d] - part.chunk_begin[d]);
    key /= count;
  }
  part.shape = part.chunk_shape;
  return part;
}

void ChunkBoard::give_parts() {
  for (std::size_t l = 0; l < open_.size(); ++l) {
    const int level = static_cast<int>(l);
    for (auto& [key, chunk] : open_[l]) {
      const Part whole = whole_chunk(level, key);
      if (chunk.data.empty()) make_data(level, whole, chunk);
      const Tensor all = chunk_tensor(level, whole, chunk);
      for (const LevelBox& box : chunk.parts) {
        Extents begin = box.begin;
        for (int d = 0; d < begin.size(); ++d) begin[d] += whole.chunk_begin[d];
        sink_.write_part(level, begin, view(all, box.begin, box.shape));
      }
      hold(-static_cast<index_t>(chunk.data.size()));
    }
    open_[l].clear();
  }
}

index_t ChunkBoard::left() const {
  index_t left = 0;
  for (const auto& chunks : open_) left += static_cast<index_t>(chunks.size());
  return left;
}

}  // namespace detail
}  // namespace oriel
