// Scratch memory of one thread, which grows and is kept, so that calls after the first allocate nothing.
#pragma once

#include <cstddef>
#include <memory>

#include "hwy/aligned_allocator.h"
#include "oriel/types.h"

namespace oriel::cpu {

class Arena {
 public:
  /// Forgets all that was taken, and makes room for `bytes`.
  void reset(index_t bytes) {
    used_ = 0;
    if (bytes <= size_) return;
    memory_.reset();  // before the new memory is asked for
    size_ = 0;
    memory_ = hwy::AllocateAligned<std::byte>(static_cast<std::size_t>(bytes));
    if (!memory_) throw std::bad_alloc();
    size_ = bytes;
  }

  /// `bytes` of memory, aligned to 64; only as much as reset made room for.
  std::byte* take(index_t bytes) {
    std::byte* p = memory_.get() + used_;
    used_ += round_up(bytes);
    return p;
  }

  static constexpr index_t round_up(index_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  hwy::AlignedFreeUniquePtr<std::byte[]> memory_;
  index_t size_ = 0;
  index_t used_ = 0;
};

}  // namespace oriel::cpu
