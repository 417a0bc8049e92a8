#include <array>
#include <deque>
#include <random>

#include "cuda_pipeline_primitives.h"
#include "grid.h"
#include "memory.h"

namespace grid {
namespace {

struct Copy {
  void* to = nullptr;
  std::array<unsigned char, 16> bytes{};
  std::size_t count = 0;
};

// What one thread has begun and not waited for; the last group is not committed yet.
struct Thread {
  std::deque<std::vector<Copy>> groups = {{}};
  std::uint64_t launch = 0;
  uint3 block{};
};

// That of the running thread, empty where a new block begins.
Thread& own() {
  static std::vector<Thread> threads(1024);
  Thread& t = threads[threadIdx.x + blockDim.x * (threadIdx.y + std::size_t{blockDim.y} * threadIdx.z)];
  const std::uint64_t launch = report().launches;
  if (t.launch == launch && t.block.x == blockIdx.x && t.block.y == blockIdx.y && t.block.z == blockIdx.z) return t;
  t = Thread{};
  t.launch = launch;
  t.block = blockIdx;
  return t;
}

bool is_late() {
  static std::mt19937 random(1);
  return options().order == Order::forward || (options().order == Order::random && random() % 2 == 0);
}

}  // namespace

void begin_copy(void* to, const void* from, std::size_t bytes) {
  if (bytes != 4 && bytes != 8 && bytes != 16) return fail("an asynchronous copy of " + std::to_string(bytes));
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0)
    return fail("misaligned asynchronous copy of " + std::to_string(bytes) + " bytes to shared memory");
  Copy copy;
  copy.to = to;
  copy.count = bytes;
  read(from, copy.bytes.data(), bytes);
  if (is_late())
    own().groups.back().push_back(copy);
  else
    std::memcpy(to, copy.bytes.data(), bytes);
}

void commit_copies() { own().groups.emplace_back(); }

void wait_for_copies(std::size_t groups_left) {
  std::deque<std::vector<Copy>>& groups = own().groups;
  for (; groups.size() > groups_left + 1; groups.pop_front())
    for (const Copy& copy : groups.front()) std::memcpy(copy.to, copy.bytes.data(), copy.count);
}

}  // namespace grid
