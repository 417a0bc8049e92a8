// Memory of chunks that a thread uses again.
#include "io/chunk_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace oriel::io {
namespace {

using Bytes = std::vector<std::byte, ChunkAllocator<std::byte>>;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

std::uintptr_t place_of(const Bytes& bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); }
std::uintptr_t place_of_next(std::size_t bytes) { return place_of(Bytes(bytes)); }

TEST(ChunkMemory, IsUsedAgainByItsThread) {
  const std::uintptr_t first = place_of_next(500 * kKiB);
  EXPECT_EQ(place_of_next(500 * kKiB), first);
  EXPECT_EQ(place_of_next(480 * kKiB), first) << "sizes of compressed chunks differ";
  const Bytes held(500 * kKiB);
  EXPECT_EQ(place_of(held), first);
  EXPECT_NE(place_of_next(500 * kKiB), first);
}

TEST(ChunkMemory, HasItsValuesOnceTheyAreSet) {
  for (const std::size_t bytes : {std::size_t{1}, 31 * kKiB, 32 * kKiB, 777 * kKiB + 3, 8 * kMiB, 8 * kMiB + 1}) {
    Bytes ones(bytes, std::byte{1});
    const Bytes copy(ones.begin(), ones.end());
    ones.assign(bytes, std::byte{2});
    ones.resize(bytes + 1, std::byte{3});
    EXPECT_EQ(copy, Bytes(bytes, std::byte{1}));
    EXPECT_EQ(ones.front(), std::byte{2});
    EXPECT_EQ(ones.back(), std::byte{3});
  }
}

// Given back by another thread than took it, and after all that a thread keeps is gone.
TEST(ChunkMemory, MayBeGivenBackByAnyThread) {
  std::vector<Bytes> many(20);
  std::thread([&] {
    for (Bytes& each : many) each.assign(300 * kKiB, std::byte{5});
  }).join();
  std::thread([&] {
    static thread_local std::vector<Bytes> until_its_end;
    for (std::size_t i = 0; i < 10; ++i) until_its_end.push_back(std::move(many[i]));
    Bytes(300 * kKiB);
  }).join();
  EXPECT_EQ(many.back(), Bytes(300 * kKiB, std::byte{5}));
  many.clear();
}

}  // namespace
}  // namespace oriel::io
