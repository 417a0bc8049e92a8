// What a thread keeps between calls: scopes nest, nothing is lost, and no more is kept than is said.
#include "cpu/runtime/arena.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace oriel::test {
namespace {

using cpu::Arena;
using cpu::Kept;

constexpr std::size_t kBytes = 5000;

std::byte* filled(Arena& arena, int value) {
  std::byte* const p = arena.take(kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0U);
  std::memset(p, value, kBytes);
  return p;
}

bool holds(const std::byte* p, int value) {
  return std::all_of(p, p + kBytes, [&](std::byte b) { return b == static_cast<std::byte>(value); });
}

TEST(Arena, ScopesNest) {
  Arena outer;
  const std::byte* const first = filled(outer, 1);
  const std::byte* later = nullptr;
  {
    Arena inner;
    const std::byte* const second = filled(inner, 2);
    later = filled(outer, 3);  // the outer one takes more while the inner one lives
    inner.reset();
    filled(inner, 4);
    EXPECT_EQ(second, static_cast<const std::byte*>(inner.take(0)) - (kBytes + 63) / 64 * 64) << "from the begin again";
  }
  Arena next;
  filled(next, 5);
  EXPECT_TRUE(holds(first, 1));
  EXPECT_TRUE(holds(later, 3));
}

TEST(Arena, MemoryIsTheSameInTheNextCallEvenAfterAnException) {
  const std::byte *first = nullptr, *second = nullptr;
  try {
    Arena arena;
    first = arena.take(100);
    throw std::runtime_error("refused");
  } catch (const std::runtime_error&) {
  }
  {
    Arena arena;
    second = arena.take(100);
  }
  EXPECT_EQ(first, second);
}

TEST(Arena, TakesOfNothingAreSomewhere) {
  std::thread([] {
    Arena arena;
    EXPECT_NE(arena.take(0), nullptr);
    EXPECT_NE(arena.take(1), nullptr);
  }).join();
}

// Of memory that this process has asked for, in bytes.
index_t mapped() {
  index_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST(Arena, AThreadKeepsNoMoreThanIsSaid) {
#ifdef ORIEL_SANITIZED
  GTEST_SKIP() << "the sanitizers' allocators keep what is given back";
#endif
  constexpr index_t kMiB = index_t{1} << 20, kMost = cpu::ArenaBlocks::kKeep;
  const index_t before = mapped();
  {
    Arena arena;
    arena.take(kMost + kMiB);  // one block
    EXPECT_GT(mapped() - before, kMost);
  }
  EXPECT_LT(mapped() - before, 8 * kMiB);
  {
    Arena arena;
    for (int i = 0; i < 5; ++i) arena.take(kMost / 4);  // several
  }
  EXPECT_LT(mapped() - before, 8 * kMiB);
  {
    Arena outer;
    outer.take(kMost * 3 / 4);
    Arena inner;
    inner.take(kMost * 3 / 4);
  }
  EXPECT_LT(mapped() - before, kMost + 8 * kMiB);
  EXPECT_GT(mapped() - before, kMost / 2) << "something is kept";
}

// Counts its kind.
struct Counted {
  static constexpr index_t kKeep = 100;
  static inline int made = 0, living = 0;
  index_t size = 10;
  int number = made++;

  Counted() { ++living; }
  ~Counted() { --living; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  index_t bytes() const { return size; }
};

int recurse(int depth) {
  const int before = Counted::made;
  Kept<Counted> here;
  const int number = here->number;
  if (depth > 1) recurse(depth - 1);
  EXPECT_EQ(here->number, number);
  return Counted::made - before;
}

TEST(Kept, OneForEachDepthOfCallsAndThread) {
  Counted::made = 0;
  std::thread([] {
    EXPECT_EQ(recurse(3), 3);
    EXPECT_EQ(recurse(3), 0) << "they are kept";
    Kept<Counted> first;
    EXPECT_EQ(first->number, 0) << "the same at the same depth";
    Kept<Counted> second;
    EXPECT_EQ(second->number, 1);
  }).join();
  EXPECT_EQ(Counted::living, 0) << "a thread that ends gives all back";
  std::thread([] { EXPECT_EQ(recurse(1), 1) << "another thread has its own"; }).join();
}

TEST(Kept, NoMoreThanTheLimit) {
  std::thread([] {
    recurse(10);
    EXPECT_EQ(Counted::living, 10);
    recurse(15);
    EXPECT_EQ(Counted::living, 10);
    {
      Kept<Counted> large;
      large->size = 95;
    }
    EXPECT_EQ(Counted::living, 1) << "those of deeper calls make room";
    {
      Kept<Counted> large;
      EXPECT_EQ(large->size, 95);
      large->size = 101;
    }
    EXPECT_EQ(Counted::living, 0) << "too large";
  }).join();
}

}  // namespace
}  // namespace oriel::test
