#include "io/chunk_memory.h"

#include <algorithm>
#include <array>
#include <utility>

namespace oriel::io {
namespace {

// Before the bytes that are given away: how many there are.
constexpr std::size_t kHead = 64;
constexpr std::size_t kLeastKept = std::size_t{32} << 10, kMostKept = std::size_t{8} << 20;
constexpr std::size_t kStep = 8;  // sizes are rounded up by at most an eighth, since those of compressed chunks differ

std::size_t& size_of(std::byte* memory) { return *reinterpret_cast<std::size_t*>(memory - kHead); }

std::byte* allocate(std::size_t bytes) {
  void* const begin = ::operator new (kHead + bytes, std::align_val_t{kHead});
  auto* const memory = static_cast<std::byte*>(begin) + kHead;
  ::new (static_cast<void*>(memory - kHead)) std::size_t(bytes);
  return memory;
}
void free_memory(std::byte* memory) { ::operator delete (memory - kHead, std::align_val_t{kHead}); }

// A chunk as it is and compressed, of the input and of a level.
struct Kept {
  std::array<std::byte*, 4> memory{};
  std::size_t next = 0;  // to be replaced

  Kept() = default;
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept();
};
thread_local Kept kept;
thread_local bool ended = false;  // there is no `kept` any more

Kept::~Kept() {
  ended = true;
  for (std::byte* const each : memory)
    if (each != nullptr) free_memory(each);
}

}  // namespace

std::byte* take_chunk_memory(std::size_t bytes) {
  if (ended || bytes < kLeastKept || bytes > kMostKept) return allocate(bytes);
  std::byte** best = nullptr;
  for (std::byte*& each : kept.memory) {
    if (each == nullptr || size_of(each) < bytes) continue;
    if (best == nullptr || size_of(each) < size_of(*best)) best = &each;
  }
  if (best != nullptr) return std::exchange(*best, nullptr);
  std::size_t step = kLeastKept;
  while (step * kStep * 2 <= bytes) step *= 2;
  return allocate(std::min((bytes + step - 1) / step * step, kMostKept));
}

void give_back_chunk_memory(std::byte* memory) noexcept {
  const std::size_t bytes = size_of(memory);
  if (ended || bytes < kLeastKept || bytes > kMostKept) return free_memory(memory);
  const auto free = std::find(kept.memory.begin(), kept.memory.end(), nullptr);
  std::byte*& place = free != kept.memory.end() ? *free : kept.memory[kept.next++ % kept.memory.size()];
  if (place != nullptr) free_memory(place);
  place = memory;
}

}  // namespace oriel::io
