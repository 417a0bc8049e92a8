// What runs on oneDNN's threads: OpenMP's or oneTBB's, as it was built.
#include <algorithm>
#include <dnnl.hpp>

#include "nn/cpu/threads.h"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
extern "C" {  // of omp.h, which clang-tidy does not find where g++ brings it
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
void omp_set_num_threads(int);
}
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

namespace oriel::nn {

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

void share_out(index_t n, const std::function<void(index_t, index_t)>& body) {
#pragma omp parallel
  {
    const index_t count = omp_get_num_threads(), at = omp_get_thread_num();
    const index_t begin = n * at / count, end = n * (at + 1) / count;
    if (begin < end) body(begin, end);
  }
}

void with_threads(const std::function<void()>& work) { work(); }

#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB

namespace {
thread_local int team = 0;
}

ThreadScope::ThreadScope(int threads) : before_(team) { team = threads; }
ThreadScope::~ThreadScope() { team = before_; }

void with_threads(const std::function<void()>& work) {
  // An arena of its own has no other work of the caller's that a thread which waits could take.
  tbb::task_arena(team > 0 ? std::min(team, tbb::this_task_arena::max_concurrency()) : tbb::task_arena::automatic)
      .execute(work);
}

void share_out(index_t n, const std::function<void(index_t, index_t)>& body) {
  with_threads([&] {
    tbb::parallel_for(tbb::blocked_range<index_t>(0, n),
                      [&](const tbb::blocked_range<index_t>& range) { body(range.begin(), range.end()); });
  });
}

#else

ThreadScope::ThreadScope(int) : before_(0) {}
ThreadScope::~ThreadScope() { (void)before_; }
void share_out(index_t n, const std::function<void(index_t, index_t)>& body) {
  if (n > 0) body(0, n);
}
void with_threads(const std::function<void()>& work) { work(); }

#endif

}  // namespace oriel::nn
