// Threads of the program's own for the calls of pool.h.
#pragma once

#include <cstdint>

namespace oriel {

/// Threads of the program's own, which run the calls that are given it in the place of oneTBB's: Options{.executor =
/// &e}.
struct Executor {
  /// Tasks that may run at once, the caller's thread counted; at least 1.
  int threads = 1;
  /// Calls task(state, i) once for each i from 0 to tasks - 1, on whatever threads and in whatever order, and returns
  /// when all of them have ended. Tasks throw nothing and wait for nothing.
  void (*run)(void* context, std::int64_t tasks, void (*task)(void* state, std::int64_t i), void* state) = nullptr;
  void* context = nullptr;  ///< run's first argument
};

}  // namespace oriel
