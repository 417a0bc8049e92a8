#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "oriel/types.h"

namespace oriel::distributed {

/// Memory from a multiple of 64 on, zero at first: where windows leave gaps, gathered copies have holes that nobody
/// fills.
class Memory {
 public:
  std::byte* take(index_t bytes) {
    if (bytes == 0) return nullptr;
    const std::size_t size = static_cast<std::size_t>(bytes);
    blocks_.push_back(Block(static_cast<std::byte*>(::operator new(size, kAlignment))));
    std::memset(blocks_.back().get(), 0, size);
    return blocks_.back().get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  using Block = std::unique_ptr<std::byte, Free>;
  std::vector<Block> blocks_;
};

}  // namespace oriel::distributed
