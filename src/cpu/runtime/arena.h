// Scratch memory of a call. A thread keeps what it has used, so that calls after the first allocate nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "cpu/runtime/kept.h"
#include "hwy/aligned_allocator.h"
#include "oriel/types.h"

#if defined(__SANITIZE_ADDRESS__)
#define ORIEL_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORIEL_POISONS 1
#endif
#endif
#ifdef ORIEL_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace oriel::cpu {

/// The blocks that an arena hands out parts of. A thread holds kKeep bytes at most between calls.
class ArenaBlocks {
 public:
  static constexpr index_t kKeep = index_t{1} << 28;

  /// Gives back all that was taken. Several blocks become one, so that the next user finds its memory in one piece.
  void reset() noexcept {
    if (blocks_.size() > 1) {
      const index_t total = bytes();
      blocks_.clear();
      at_ = end_ = nothing;
      if (total <= kKeep) add(total);  // without memory the next user does it
    } else if (!blocks_.empty()) {
      at_ = blocks_.back().memory.get();
    }
  }

  std::byte* take(index_t size) {
    if (size > end_ - at_ && !add(std::max(size, kBlock))) throw std::bad_alloc();
    std::byte* p = at_;
    at_ += size;
    return p;
  }

  /// The address sanitizer sees who reads or writes what nobody has taken any more.
  void poison([[maybe_unused]] bool on) const {
#ifdef ORIEL_POISONS
    for (const Block& b : blocks_) {
      const auto size = static_cast<std::size_t>(b.size);
      on ? __asan_poison_memory_region(b.memory.get(), size) : __asan_unpoison_memory_region(b.memory.get(), size);
    }
#endif
  }

  index_t bytes() const {
    index_t total = 0;
    for (const Block& b : blocks_) total += b.size;
    return total;
  }

 private:
  static constexpr index_t kBlock = index_t{1} << 20;
  alignas(64) static inline std::byte nothing[64];

  struct Block {
    hwy::AlignedFreeUniquePtr<std::byte[]> memory;
    index_t size;
  };

  bool add(index_t size) {
    if constexpr (sizeof(std::size_t) < sizeof(index_t))  // processors of 32 bits
      if (size > index_t{std::numeric_limits<std::ptrdiff_t>::max()}) return false;
    auto memory = hwy::AllocateAligned<std::byte>(static_cast<std::size_t>(size));
    if (!memory) return false;
    blocks_.push_back({std::move(memory), size});
    at_ = blocks_.back().memory.get();
    end_ = at_ + size;
    return true;
  }

  std::vector<Block> blocks_;
  std::byte *at_ = nothing, *end_ = nothing;
};

/// Memory for as long as this lives. Calls nest: what one has taken stays its own while it waits, whatever its thread
/// does in the meantime.
class Arena {
 public:
  Arena() { blocks_->poison(false); }
  ~Arena() {
    blocks_->reset();
    blocks_->poison(true);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Gives back all that was taken.
  void reset() { blocks_->reset(); }

  /// `bytes` of memory, aligned to 64, valid until reset.
  std::byte* take(index_t bytes) { return blocks_->take((bytes + 63) / 64 * 64); }

  template <class T>
  T* take_array(index_t count) {
    return reinterpret_cast<T*>(take(count * static_cast<index_t>(sizeof(T))));
  }

 private:
  Kept<ArenaBlocks> blocks_;
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
