// A program's own threads, in the place of oneTBB's.
#pragma once

#include <functional>

#include "oriel/executor.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// While it lives, this thread's loops are run by an executor (null: by oneTBB).
class ExecutorScope {
 public:
  explicit ExecutorScope(const Executor* executor);
  ~ExecutorScope();
  ExecutorScope(const ExecutorScope&) = delete;
  ExecutorScope& operator=(const ExecutorScope&) = delete;

 private:
  const Executor* before_;
};

/// The threads of this thread's executor, 1 within a task of one; 0: there is none.
int executor_threads();

/// Runs a loop by this thread's executor, as `spread` would. False if there is none, and then nothing has run. Within a
/// task of an executor the loop runs on the task's thread, as tasks wait for nothing. Throws Error if the executor did
/// not run every task once.
bool spread_by_executor(index_t n, index_t bytes, int threads, const std::function<void(index_t, index_t)>& body);

}  // namespace oriel::cpu
