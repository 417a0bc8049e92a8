// Scratch memory of one thread, which is kept, so that calls after the first allocate nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "oriel/types.h"

namespace oriel::cpu {

class Arena {
 public:
  /// Gives back all that was taken. Several blocks become one, so that the next user finds its memory in one piece.
  void reset() {
    if (blocks_.size() > 1) {
      index_t total = 0;
      for (const Block& b : blocks_) total += b.size;
      blocks_.clear();
      if (total <= kKeep) grow(total);
    }
    used_ = 0;
  }

  /// `bytes` of memory, aligned to 64, valid until reset.
  std::byte* take(index_t bytes) {
    const index_t size = (bytes + 63) / 64 * 64;
    if (blocks_.empty() || used_ + size > blocks_.back().size) grow(std::max(size, kBlock));
    std::byte* p = blocks_.back().memory.get() + used_;
    used_ += size;
    return p;
  }

  template <class T>
  T* take_array(index_t count) {
    return reinterpret_cast<T*>(take(count * static_cast<index_t>(sizeof(T))));
  }

 private:
  static constexpr index_t kBlock = index_t{1} << 20;
  static constexpr index_t kKeep = index_t{1} << 28;  // a thread holds no more than this between calls

  struct Block {
    hwy::AlignedFreeUniquePtr<std::byte[]> memory;
    index_t size;
  };

  void grow(index_t size) {
    auto memory = hwy::AllocateAligned<std::byte>(static_cast<std::size_t>(size));
    if (!memory) throw std::bad_alloc();
    blocks_.push_back({std::move(memory), size});
    used_ = 0;
  }

  std::vector<Block> blocks_;
  index_t used_ = 0;
};

/// `n` copies of a value of `bytes` bytes, by doubling.
inline void fill_copies(std::byte* to, const void* value, index_t bytes, index_t n) {
  if (n <= 0) return;
  std::memcpy(to, value, static_cast<std::size_t>(bytes));
  for (index_t done = 1; done < n; done *= 2) {
    std::memcpy(to + done * bytes, to, static_cast<std::size_t>(std::min(done, n - done) * bytes));
  }
}

}  // namespace oriel::cpu
