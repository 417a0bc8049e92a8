// Blocks and threads: fibers on one thread of the host. A fiber runs threads one after another until one of them has to
// wait; then the next fiber goes on, so kernels without barriers never switch.
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "grid.h"
#include "memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace oriel::cuda {
// Dynamic shared memory, declared by kernels as `extern __shared__`.
inline constexpr std::size_t kSharedWords = 227 * 1024 / 16;
extern uint4 dynamic_shared[kSharedWords];
uint4 dynamic_shared[kSharedWords];
}  // namespace oriel::cuda

namespace grid {
namespace {

constexpr std::size_t kStack = 256 * 1024;
constexpr std::size_t kSharedMost = 227 * 1024;
constexpr std::size_t kSharedUnasked = 48 * 1024;
constexpr int kWarp = 32;

enum class Wait : unsigned char { fresh, ready, barrier, warp, done };

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack{new char[kStack]};
};

struct Thread {
  Wait wait = Wait::fresh;
  int line = 0;
  Fiber* fiber = nullptr;  // of a thread that has begun
  Accessor accessor;
};

// One exchange of a warp: lanes bring values until all of the mask have; then everyone reads.
struct Warp {
  unsigned mask = 0, arrived = 0;
  int line = 0;
  int turn = 0;  // of two sets of values: a lane can be one exchange ahead of another, not two
  std::uint64_t values[2][kWarp] = {};
  unsigned votes[2] = {};
};

struct Block {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<int> order;  // in which threads are looked at
  std::size_t cursor = 0;
  int running = -1;
  int finished = 0, at_barrier = 0;
  bool broken = false;
  Body body = nullptr;
  const void* arguments = nullptr;
  ucontext_t launcher{};
};

Block block;
std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Fiber*> idle;
std::mt19937_64 random_source;
std::map<const void*, std::size_t> allowed_shared;

void set_running(int t) {
  block.running = t;
  const unsigned n = static_cast<unsigned>(t);
  threadIdx = {n % blockDim.x, n / blockDim.x % blockDim.y, n / (blockDim.x * blockDim.y)};
  set_accessor(&block.threads[static_cast<std::size_t>(t)].accessor);
}

void run_threads();

Fiber* idle_fiber() {
  if (idle.empty()) {
    fibers.push_back(std::make_unique<Fiber>());
    idle.push_back(fibers.back().get());
  }
  Fiber* f = idle.back();
  idle.pop_back();
  getcontext(&f->context);
  f->context.uc_stack = {f->stack.get(), 0, kStack};
  f->context.uc_link = nullptr;
  makecontext(&f->context, &run_threads, 0);
  return f;
}

// The next thread that may run, from the cursor on in the block's order; -1 when none may.
int next_thread() {
  const std::size_t n = block.order.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = block.cursor + i < n ? block.cursor + i : block.cursor + i - n;
    const int t = block.order[at];
    const Wait w = block.threads[static_cast<std::size_t>(t)].wait;
    if (w == Wait::fresh || w == Wait::ready) {
      block.cursor = at + 1 < n ? at + 1 : 0;
      return t;
    }
  }
  return -1;
}

std::string thread_name(std::size_t t) { return "thread " + std::to_string(t); }

// Nobody can go on: says who waits where.
void report_deadlock() {
  std::string text = "divergent barrier:";
  std::map<std::pair<int, int>, std::pair<int, std::size_t>> groups;  // (kind, line) -> count, one of them
  for (std::size_t t = 0; t < block.threads.size(); ++t) {
    const Thread& thread = block.threads[t];
    auto& group = groups[{static_cast<int>(thread.wait), thread.wait == Wait::done ? 0 : thread.line}];
    ++group.first;
    group.second = t;
  }
  for (const auto& [kind, group] : groups) {
    const Wait w = static_cast<Wait>(kind.first);
    text += " " + std::to_string(group.first) + " threads (one is " + thread_name(group.second) + ") " +
            (w == Wait::done ? std::string("have left;")
                             : (w == Wait::barrier ? "wait at the barrier of line " : "wait for their warp in line ") +
                                   std::to_string(kind.second) + ";");
  }
  text.pop_back();
  block.running = -1;
  fail(text);
  block.broken = true;
}

#if defined(__SANITIZE_ADDRESS__)
const void* launcher_stack = nullptr;
std::size_t launcher_size = 0;
#endif

// Saves this context and goes on with `to`.
void switch_to(ucontext_t& from, ucontext_t& to) {
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  const bool launcher = &to == &block.launcher;
  __sanitizer_start_switch_fiber(&fake, launcher ? launcher_stack : to.uc_stack.ss_sp,
                                 launcher ? launcher_size : to.uc_stack.ss_size);
  swapcontext(&from, &to);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  swapcontext(&from, &to);
#endif
}

// Leaves the running thread, which waits, until it may go on.
void wait_for_turn() {
  Thread& mine = block.threads[static_cast<std::size_t>(block.running)];
  const int me = block.running;
  const int t = next_thread();
  if (t == me) {
    mine.wait = Wait::ready;
    return;
  }
  if (t < 0) {
    report_deadlock();
    switch_to(mine.fiber->context, block.launcher);  // never comes back
  }
  Thread& next = block.threads[static_cast<std::size_t>(t)];
  Fiber* to = next.fiber;
  set_running(t);
  if (next.wait == Wait::fresh) {
    to = idle_fiber();
    next.fiber = to;
  }
  switch_to(mine.fiber->context, to->context);
}

// What a fiber does: threads, one after another, while the next one has not begun.
void run_threads() {
#if defined(__SANITIZE_ADDRESS__)
  const void* from = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(nullptr, &from, &size);
  if (launcher_stack == nullptr) {  // the first switch of all comes from the launcher
    launcher_stack = from;
    launcher_size = size;
  }
#endif
  Fiber* here = block.threads[static_cast<std::size_t>(block.running)].fiber;
  for (;;) {
    Thread& thread = block.threads[static_cast<std::size_t>(block.running)];
    thread.wait = Wait::ready;
    block.body(block.arguments);
    thread.wait = Wait::done;
    ++block.finished;
    const int t = next_thread();
    if (t < 0) {
      if (block.finished < static_cast<int>(block.threads.size())) report_deadlock();
      switch_to(here->context, block.launcher);  // never comes back
    }
    Thread& next = block.threads[static_cast<std::size_t>(t)];
    set_running(t);
    if (next.wait == Wait::fresh) {
      next.fiber = here;
      continue;
    }
    idle.push_back(here);
    switch_to(here->context, next.fiber->context);  // never comes back
  }
}

void poison_shared(std::size_t bytes) {
  unsigned char* shared = reinterpret_cast<unsigned char*>(oriel::cuda::dynamic_shared);
  std::memset(shared, options().poison, std::min(kSharedMost, bytes + 1024));
}

// Bytes behind the block's shared memory must stay poisoned.
void check_shared(std::size_t bytes) {
  const unsigned char* shared = reinterpret_cast<const unsigned char*>(oriel::cuda::dynamic_shared);
  for (std::size_t i = bytes; i < std::min(kSharedMost, bytes + 1024); ++i) {
    if (shared[i] == options().poison) continue;
    return fail("out of bounds: shared memory of " + std::to_string(bytes) + " bytes was written at " +
                std::to_string(i));
  }
}

void run_block(std::size_t threads, std::size_t shared) {
  block.threads.assign(threads, Thread{});
  for (std::size_t t = 0; t < threads; ++t) block.threads[t].accessor.warp = static_cast<unsigned>(t / kWarp);
  block.warps.assign((threads + kWarp - 1) / kWarp, Warp{});
  if (options().order == Order::random) std::shuffle(block.order.begin(), block.order.end(), random_source);
  block.cursor = 0;
  block.finished = block.at_barrier = 0;
  block.broken = false;
  poison_shared(shared);
  idle.clear();
  for (const auto& f : fibers) idle.push_back(f.get());
  const int first = next_thread();
  Thread& thread = block.threads[static_cast<std::size_t>(first)];
  set_running(first);
  thread.fiber = idle_fiber();
  switch_to(block.launcher, thread.fiber->context);
  check_shared(shared);
  block.running = -1;
  if (options().count) end_block();
}

}  // namespace

std::string where() {
  if (block.running < 0) return " (block " + std::to_string(blockIdx.x) + ")";
  return " (block " + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) + ", thread " +
         std::to_string(block.running) + ")";
}

int lane() { return block.running % kWarp; }

void barrier(int line) {
  Thread& mine = block.threads[static_cast<std::size_t>(block.running)];
  mine.wait = Wait::barrier;
  mine.line = line;
  if (++block.at_barrier == static_cast<int>(block.threads.size())) {
    block.at_barrier = 0;
    ++report().barriers;
    bool same = true;
    for (Thread& t : block.threads) {
      same = same && t.line == line;
      t.wait = Wait::ready;
    }
    if (!same) fail("divergent barrier: threads wait in line " + std::to_string(line) + " and in another one");
    block.cursor = 0;
  }
  wait_for_turn();
}

namespace {

// Brings this lane's value to its warp, and waits for the others of the mask; returns the set of values to read.
int meet(unsigned mask, std::uint64_t value, bool vote, int line) {
  const std::size_t me = static_cast<std::size_t>(block.running);
  Warp& warp = block.warps[me / kWarp];
  const unsigned bit = 1U << (me % kWarp);
  if ((mask & bit) == 0) fail("the mask of a shuffle or vote leaves out the thread that calls it");
  if (warp.arrived == 0) {
    warp.mask = mask;
    warp.line = line;
    warp.votes[warp.turn] = 0;
  } else if (warp.mask != mask || warp.line != line) {
    fail("divergent warp: lanes are in lines " + std::to_string(warp.line) + " and " + std::to_string(line) +
         ", or name different masks");
  }
  const int turn = warp.turn;
  warp.values[turn][me % kWarp] = value;
  if (vote) warp.votes[turn] |= bit;
  warp.arrived |= bit;
  block.threads[me].wait = Wait::warp;
  block.threads[me].line = line;
  if (warp.arrived == warp.mask) {
    const std::size_t first = me / kWarp * kWarp;
    for (std::size_t t = first; t < std::min(first + kWarp, block.threads.size()); ++t) {
      if ((mask >> (t - first) & 1U) != 0) block.threads[t].wait = Wait::ready;
    }
    warp.arrived = 0;
    warp.turn ^= 1;
    ++report().shuffles;
    return turn;
  }
  wait_for_turn();
  return turn;
}

// The first of a grid's blocks that runs.
std::uint64_t first_block(std::uint64_t blocks) {
  const double share = std::ldexp(options().last_share, 1 - static_cast<int>(report().launches));
  if (options().last_share >= 1) return 0;
  return blocks - static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(blocks)));
}

}  // namespace

std::uint64_t exchange(unsigned mask, std::uint64_t value, int from, int line) {
  const int turn = meet(mask, value, false, line);
  if ((mask >> from & 1U) == 0) fail("a shuffle reads lane " + std::to_string(from) + ", which takes no part");
  return block.warps[static_cast<std::size_t>(block.running) / kWarp].values[turn][from];
}

unsigned vote(unsigned mask, bool value, int line) {
  const int turn = meet(mask, 0, value, line);
  return block.warps[static_cast<std::size_t>(block.running) / kWarp].votes[turn];
}

cudaError_t allow_shared(const void* kernel, std::size_t bytes) {
  if (bytes > kSharedMost) return remember(cudaErrorInvalidValue);
  allowed_shared[kernel] = bytes;
  return asked_failure("cudaFuncSetAttribute");
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, Body body, const void* arguments) {
  if (const cudaError_t e = asked_failure("cudaLaunchKernel"); e != cudaSuccess) return e;
  const dim3 g = config.gridDim, b = config.blockDim;
  const std::size_t threads = std::size_t{b.x} * b.y * b.z;
  const auto allowed = allowed_shared.find(kernel);
  const std::size_t most = allowed == allowed_shared.end() ? kSharedUnasked : std::max(kSharedUnasked, allowed->second);
  if (threads == 0 || threads > 1024 || b.z > 64 || std::size_t{g.x} * g.y * g.z == 0 || g.x > 0x7fffffffU ||
      g.y > 65535 || g.z > 65535) {
    return remember(cudaErrorInvalidConfiguration);
  }
  if (config.dynamicSmemBytes > most) return remember(cudaErrorInvalidValue);
  Report& r = report();
  ++r.launches;
  clock() += config.dynamicSmemBytes > 0 ? options().milliseconds : options().plain_milliseconds;
  r.stream = config.stream;
  r.threads += std::uint64_t{g.x} * g.y * g.z * threads;
  r.shared_bytes = std::max(r.shared_bytes, config.dynamicSmemBytes);
  begin_launch();
  gridDim = g;
  blockDim = b;
  block.body = body;
  block.arguments = arguments;
  random_source.seed(options().seed);
  block.order.resize(threads);
  std::iota(block.order.begin(), block.order.end(), 0);
  if (options().order == Order::reverse) std::reverse(block.order.begin(), block.order.end());
  const std::uint64_t blocks = std::uint64_t{g.x} * g.y * g.z, first = first_block(blocks);
  std::vector<std::uint64_t> sequence(static_cast<std::size_t>(blocks - first));
  std::iota(sequence.begin(), sequence.end(), first);
  if (options().order == Order::reverse) std::reverse(sequence.begin(), sequence.end());
  if (options().order == Order::random) std::shuffle(sequence.begin(), sequence.end(), random_source);
  for (const std::uint64_t n : sequence) {
    blockIdx = {static_cast<unsigned>(n % g.x), static_cast<unsigned>(n / g.x % g.y),
                static_cast<unsigned>(n / (std::uint64_t{g.x} * g.y))};
    run_block(threads, config.dynamicSmemBytes);
    if (block.broken || r.failures.size() >= 20) break;
  }
  return cudaSuccess;
}

}  // namespace grid
