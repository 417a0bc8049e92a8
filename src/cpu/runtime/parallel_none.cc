// In place of parallel.cc in builds without threads (ORIEL_THREADS=none).
#include "cpu/runtime/parallel.h"

namespace oriel::cpu {

int default_threads() { return 1; }

void spread(index_t n, index_t /*bytes*/, int /*threads*/, const std::function<void(index_t, index_t)>& body) {
  body(0, n);
}

}  // namespace oriel::cpu
