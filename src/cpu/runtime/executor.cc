#include "cpu/runtime/executor.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "cpu/runtime/known_work.h"
#include "cpu/runtime/parallel.h"
#include "fmt/format.h"

namespace oriel::cpu {
namespace {

using Body = std::function<void(index_t, index_t)>;
using std::chrono::nanoseconds;

thread_local const Executor* current = nullptr;
thread_local bool within_task = false;

// A loop in parts, of which a task is one.
class Loop {
 public:
  Loop(index_t n, index_t parts, const Body& body) : n_(n), parts_(parts), body_(body) {}

  void run_by(const Executor& executor) {
    executor.run(
        executor.context, parts_, [](void* state, std::int64_t i) { static_cast<Loop*>(state)->run_part(i); }, this);
    if (fault_) std::rethrow_exception(fault_);
    if (const index_t done = done_.load(std::memory_order_acquire); done != parts_) {
      throw Error(fmt::format("executor: must have run {} tasks when it returns, but has run {}", parts_, done));
    }
  }

 private:
  void run_part(index_t i) noexcept {
    const bool before = within_task;
    within_task = true;
    try {
      if (i < 0 || i >= parts_) throw Error(fmt::format("executor: must run tasks 0 to {}, but ran {}", parts_ - 1, i));
      body_(n_ * i / parts_, n_ * (i + 1) / parts_);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!fault_) fault_ = std::current_exception();
    }
    within_task = before;
    done_.fetch_add(1, std::memory_order_release);
  }

  index_t n_, parts_;
  const Body& body_;
  std::atomic<index_t> done_{0};
  std::mutex mutex_;
  std::exception_ptr fault_;
};

}  // namespace

ExecutorScope::ExecutorScope(const Executor* executor) : before_(current) { current = executor; }
ExecutorScope::~ExecutorScope() { current = before_; }

int executor_threads() {
  if (within_task) return 1;
  return current == nullptr ? 0 : current->threads;
}

bool spread_by_executor(index_t n, index_t bytes, int threads, const Body& body) {
  constexpr index_t kParts = 4;  // of each thread: enough to even out
  if (within_task) {
    body(0, n);
    return true;
  }
  if (current == nullptr) return false;
  const int used = threads == 0 ? current->threads : std::min(threads, current->threads);
  // With fewer threads than the executor has, no more parts than may run at once.
  const index_t most = std::min(n, used == current->threads ? kParts * used : used);
  const index_t parts = std::min(most, std::max<index_t>(1, n * bytes / std::max<index_t>(1, task_bytes)));
  if (used == 1 || parts == 1) {
    body(0, n);
    return true;
  }
  if (worth_waking == nanoseconds(0)) {
    Loop(n, parts, body).run_by(*current);
    return true;
  }
  KnownWork known(n, bytes);
  if (!known.worth_timing()) {
    body(0, n);
    return true;
  }
  const nanoseconds start = now(), time = known.alone();
  const bool shared = time >= kWorthSharing;
  if (shared) {
    Loop(n, std::clamp<index_t>(time / kChunk, std::min<index_t>(used, parts), parts), body).run_by(*current);
  } else {
    body(0, n);
  }
  known.took(now() - start, shared ? used : 1);
  return true;
}

}  // namespace oriel::cpu
