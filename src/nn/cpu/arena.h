#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "oriel/types.h"
#include "text.h"

namespace oriel::nn {

/// Memory at a multiple of 64, in huge pages where the system gives them: a network walks through all of it.
class Arena {
 public:
  Arena() = default;
  explicit Arena(index_t bytes) {
    constexpr std::size_t kHuge = std::size_t{2} << 20, kLine = 64;
    const auto size = static_cast<std::size_t>(std::max<index_t>(bytes, 1));
    const std::size_t alignment = size >= kHuge ? kHuge : kLine;
    const std::size_t whole = (size + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, whole)));
    if (!data_) throw Error(fmt::format("unet: cannot allocate {} bytes of memory", bytes));
    if (alignment == kHuge) ::madvise(data_.get(), whole, MADV_HUGEPAGE);
  }
  std::byte* at(index_t offset) const { return data_.get() + offset; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace oriel::nn
