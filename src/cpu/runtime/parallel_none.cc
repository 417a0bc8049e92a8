// In place of parallel.cc in builds without threads (ORIEL_THREADS=none).
#include <algorithm>

#include "cpu/runtime/executor.h"
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {

int default_threads() { return std::max(1, executor_threads()); }

void spread(index_t n, index_t bytes, int threads, const std::function<void(index_t, index_t)>& body) {
  if (!spread_by_executor(n, bytes, threads, body)) body(0, n);
}

}  // namespace oriel::cpu
