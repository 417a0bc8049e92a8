#include "xla_threads.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

namespace oriel::python {
namespace {

// The tasks of a loop. Each helper keeps them alive, as it may come after the loop has ended.
class Tasks {
 public:
  Tasks(std::int64_t count, void (*task)(void* state, std::int64_t i), void* state)
      : count_(count), task_(task), state_(state) {}

  // Takes tasks until none is left.
  void take() {
    std::int64_t taken = 0;
    for (std::int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_; ++taken) task_(state_, i);
    if (taken > 0 && done_.fetch_add(taken, std::memory_order_acq_rel) + taken == count_) done_.notify_all();
  }

  // Until others have ended those that they took.
  void wait() const {
    for (std::int64_t done; (done = done_.load(std::memory_order_acquire)) != count_;) done_.wait(done);
  }

 private:
  const std::int64_t count_;
  void (*const task_)(void* state, std::int64_t i);
  void* const state_;
  std::atomic<std::int64_t> next_{0}, done_{0};
};

using Helper = std::shared_ptr<Tasks>;

void help(void* data) {
  const std::unique_ptr<Helper> tasks(static_cast<Helper*>(data));
  (*tasks)->take();
}

}  // namespace

XlaThreads::XlaThreads(const xla_abi::Api& api, xla_abi::Context* context) : api_(api), context_(context) {
  constexpr std::size_t kNeeded = offsetof(xla_abi::Api, count_threads) + sizeof(xla_abi::Api::count_threads);
  if (api.struct_size < kNeeded) return;
  std::int64_t threads = 1;
  xla_abi::CountThreads count{xla_abi::kSize<xla_abi::CountThreads>, nullptr, context, &threads};
  if (!succeeded(api.count_threads(&count))) threads = 1;
  executor_ = {
      .threads = static_cast<int>(std::clamp<std::int64_t>(threads, 1, 1 << 16)), .run = &run, .context = this};
}

// The caller's thread may be one of XLA's, and all the others may be busy with calls like this one, so the caller takes
// tasks too, and never waits for a helper that has not come yet.
void XlaThreads::run(void* self, std::int64_t count, void (*task)(void* state, std::int64_t i), void* state) {
  const auto& threads = *static_cast<const XlaThreads*>(self);
  const auto tasks = std::make_shared<Tasks>(count, task, state);
  const std::int64_t helpers = std::min<std::int64_t>(threads.executor_.threads, count) - 1;
  for (std::int64_t i = 0; i < helpers; ++i) {
    auto helper = std::make_unique<Helper>(tasks);
    if (!threads.schedule(&help, helper.get())) break;
    (void)helper.release();  // help's
  }
  tasks->take();
  tasks->wait();
}

bool XlaThreads::schedule(xla_abi::Task* task, void* data) const {
  xla_abi::ScheduleTask call{xla_abi::kSize<xla_abi::ScheduleTask>, nullptr, context_, task, data};
  return succeeded(api_.schedule_task(&call));
}

bool XlaThreads::succeeded(xla_abi::Error* error) const {
  if (error == nullptr) return true;
  xla_abi::DestroyError destroy{xla_abi::kSize<xla_abi::DestroyError>, nullptr, error};
  api_.destroy_error(&destroy);
  return false;
}

}  // namespace oriel::python
