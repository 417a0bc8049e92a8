// Runs the calls of pool.h on your program's threads.
#pragma once

#include <cstdint>

namespace oriel {

/// Your program's threads, which run calls instead of oneTBB's threads: Options{.executor = &e}.
struct Executor {
  /// Tasks that can run at once, including one on the caller's thread; at least 1.
  int threads = 1;
  /// Calls task(state, i) once for each i from 0 to tasks - 1, on any threads and in any order, and returns when all of
  /// them have ended. Tasks never throw and never block. Threads that call Oriel at once call run at once. What run
  /// throws reaches the caller, once all of its tasks have ended.
  void (*run)(void* context, std::int64_t tasks, void (*task)(void* state, std::int64_t i), void* state) = nullptr;
  void* context = nullptr;  ///< run's first argument
};

}  // namespace oriel
