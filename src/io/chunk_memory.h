// Memory of chunks, compressed and not, that threads use again.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace oriel::io {

/// Memory for so many bytes: some that this thread gave back, if it fits. So the system need not map and clear pages
/// for every chunk, which takes as long as a fast compressor. Throws std::bad_alloc.
std::byte* take_chunk_memory(std::size_t bytes);
/// Keeps the memory for the next chunks of this thread, unless it keeps enough.
void give_back_chunk_memory(std::byte* memory) noexcept;

/// Makes a std::vector whose elements have no value until one is set: `Vector bytes(n)` clears nothing.
template <class T>
struct ChunkAllocator {
  using value_type = T;

  ChunkAllocator() = default;
  template <class Other>
  ChunkAllocator(const ChunkAllocator<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    static_assert(sizeof(T) == 1);
    return reinterpret_cast<T*>(take_chunk_memory(count));
  }
  void deallocate(T* memory, std::size_t) noexcept { give_back_chunk_memory(reinterpret_cast<std::byte*>(memory)); }

  template <class Element, class... Arguments>
  void construct(Element* at, Arguments&&... arguments) {
    if constexpr (sizeof...(arguments) == 0)
      ::new (static_cast<void*>(at)) Element;  // not Element(), which is zero
    else
      ::new (static_cast<void*>(at)) Element(std::forward<Arguments>(arguments)...);
  }

  friend bool operator==(const ChunkAllocator&, const ChunkAllocator&) { return true; }
};

}  // namespace oriel::io
