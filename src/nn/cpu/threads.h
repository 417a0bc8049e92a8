// The threads of the library of convolutions: no second pool of threads waits for work beside the first.
#pragma once

#include <functional>

#include "oriel/types.h"

namespace oriel::nn {

/// Sets how many threads the library uses in the calling thread, until the end of the scope.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;
  ~ThreadScope();

 private:
  int before_;
};

/// body(begin, end) over a partition of [0, n), on the library's threads.
void share_out(index_t n, const std::function<void(index_t begin, index_t end)>& body);

/// Calls `work`, which calls the library, where that finds the threads of the ThreadScope.
void with_threads(const std::function<void()>& work);

}  // namespace oriel::nn
