#include "cpu/runtime/parallel.h"

#include <pthread.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <thread>

#include "cpu/runtime/executor.h"
#include "cpu/runtime/known_work.h"

namespace oriel::cpu {
namespace {

using Body = std::function<void(index_t, index_t)>;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

// oneTBB's workers look for work for 100 to 150 us after their last, and then sleep.
constexpr nanoseconds kAwake = microseconds(100);
// A worker that was woken has come by then, even if it had to wait for the caller's processor until a clock tick, ...
constexpr nanoseconds kUnderWay = microseconds(4000);
// ... and until then something is offered to it so often: what nobody comes for has been cut for nothing.
constexpr nanoseconds kOffer = microseconds(50);

// What is known of oneTBB's workers, by what became of work that was offered to them.
class Workers {
 public:
  // Whether work that takes so long alone is offered. Where nobody is awake: if it is worth waking somebody, together
  // with what this thread has just done alone, in calls so close to each other that a worker would have stayed awake.
  bool worth_offering(nanoseconds start, nanoseconds time) {
    if (start < awake_until_.load(std::memory_order_relaxed)) return true;
    if (start < coming_until_.load(std::memory_order_relaxed))
      return start >= next_offer_.load(std::memory_order_relaxed);
    Alone& before = alone();
    if (start - before.end > kAwake) before.spent = nanoseconds(0);
    return before.spent + time >= worth_waking;
  }

  void offered(nanoseconds end, bool helped) {
    alone().spent = nanoseconds(0);
    if (helped) {
      awake_until_.store(end + kAwake, std::memory_order_relaxed);
    } else {
      if (end >= coming_until_.load(std::memory_order_relaxed))
        coming_until_.store(end + kUnderWay, std::memory_order_relaxed);
      next_offer_.store(end + kOffer, std::memory_order_relaxed);
    }
  }

  static void done_alone(nanoseconds start, nanoseconds end) {
    alone().end = end;
    alone().spent += end - start;
  }

 private:
  struct Alone {
    nanoseconds end{0}, spent{0};
  };
  static Alone& alone() {
    static thread_local Alone mine;
    return mine;
  }

  std::atomic<nanoseconds> awake_until_{nanoseconds(0)}, coming_until_{nanoseconds(0)}, next_offer_{nanoseconds(0)};
};

constinit Workers workers;

// In a child of a process that had asked oneTBB for threads: they were not forked, but oneTBB goes on counting on them.
constinit std::atomic<bool> forked{false};

void note_forks() {
  static const int noted = pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)noted;
}

// Says whether another thread took a chunk.
bool share(index_t n, index_t least, int threads, const Body& body) {
  note_forks();
  // The thread sanitizer cannot see how oneTBB hands work over, so what happens before what is said here, also where a
  // body throws.
  std::atomic<int> handed{0};
  std::atomic<bool> helped{false};
  struct Chunk {
    std::atomic<int>& handed;
    explicit Chunk(std::atomic<int>& of) : handed(of) { (void)handed.load(std::memory_order_acquire); }
    ~Chunk() { handed.fetch_add(1, std::memory_order_release); }
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;
  };
  struct All {
    std::atomic<int>& handed;
    explicit All(std::atomic<int>& of) : handed(of) { handed.store(1, std::memory_order_release); }
    ~All() { (void)handed.load(std::memory_order_acquire); }
    All(const All&) = delete;
    All& operator=(const All&) = delete;
  };
  const std::thread::id caller = std::this_thread::get_id();
  const auto loop = [&] {
    const All all(handed);
    tbb::parallel_for(tbb::blocked_range<index_t>(0, n, static_cast<std::size_t>(least)),
                      [&](const tbb::blocked_range<index_t>& range) {
                        const Chunk chunk(handed);
                        body(range.begin(), range.end());
                        if (std::this_thread::get_id() != caller) helped.store(true, std::memory_order_relaxed);
                      });
  };
  // Isolated, as the caller may be one of many tasks, each a call like this one: a thread that waits here would begin
  // another, and this call, and what it holds, would wait for all of that.
  const auto run = [&] {
    if (while_waiting != nullptr) while_waiting();
    tbb::this_task_arena::isolate(loop);
    if (while_waiting != nullptr) while_waiting();
  };
  if (threads >= default_threads())  // oneTBB prints a warning when asked for more
    run();
  else
    tbb::task_arena(threads).execute(run);
  return helped.load(std::memory_order_relaxed);
}

}  // namespace

int default_threads() {
  if (const int threads = executor_threads(); threads > 0) return threads;
  return forked.load(std::memory_order_relaxed) ? 1 : tbb::this_task_arena::max_concurrency();
}

void spread(index_t n, index_t bytes, int threads, const Body& body) {
  if (spread_by_executor(n, bytes, threads, body)) return;
  if (forked.load(std::memory_order_relaxed)) return body(0, n);
  constexpr index_t kParts = 4;  // of each thread: enough to even out, few enough that what a body sets up is little
  const int most = default_threads(), used = threads == 0 ? most : std::min(threads, most);
  if (worth_waking == nanoseconds(0)) {
    share(n, std::max<index_t>(1, n / (kParts * used)), used, body);
    return;
  }
  if (used == 1) return body(0, n);
  KnownWork known(n, bytes);
  if (!known.worth_timing()) return body(0, n);
  const nanoseconds start = now(), time = known.alone();
  if (time < kWorthSharing || !workers.worth_offering(start, time)) {
    body(0, n);
    const nanoseconds end = now();
    known.took(end - start, 1);
    Workers::done_alone(start, end);
    return;
  }
  const index_t parts = std::clamp<index_t>(time / kChunk, used, kParts * used);
  const bool helped = share(n, (n + parts - 1) / parts, used, body);
  const nanoseconds end = now();
  known.took(end - start, helped ? used : 1);
  workers.offered(end, helped);
}

}  // namespace oriel::cpu
