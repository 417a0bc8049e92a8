#include "openmp.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

namespace oriel::python {
namespace {

// GNU's interface, which compilers call.
struct Runtime {
  void (*parallel)(void (*body)(void*), void* data, unsigned threads, unsigned flags) = nullptr;
  int (*max_threads)() = nullptr;
  int (*in_parallel)() = nullptr;
};

std::atomic<const Runtime*> current{nullptr};

struct Tasks {
  std::int64_t count;
  void (*task)(void* state, std::int64_t i);
  void* state;
  std::atomic<std::int64_t> next{0};

  static void take(void* tasks) {
    auto& all = *static_cast<Tasks*>(tasks);
    for (std::int64_t i; (i = all.next.fetch_add(1, std::memory_order_relaxed)) < all.count;) all.task(all.state, i);
  }
};

// A region has as many threads as the library's own, whatever there is to do: libgomp ends those that a smaller one
// leaves out, and the next would start new ones.
void run(void* runtime, std::int64_t count, void (*task)(void* state, std::int64_t i), void* state) {
  constexpr unsigned kAll = 0;
  Tasks tasks{.count = count, .task = task, .state = state};
  static_cast<const Runtime*>(runtime)->parallel(&Tasks::take, &tasks, kAll, 0);
}

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

bool use_openmp_of(const std::string& path) {
  current = nullptr;
  if (path.empty()) return false;
  // Never closed: the runtime has threads.
  void* library = dlopen(path.c_str(), RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
  static Runtime found;
  // Looked for in the library and in those that it is linked with.
  if (!find(library, "GOMP_parallel", found.parallel) || !find(library, "omp_get_max_threads", found.max_threads) ||
      !find(library, "omp_in_parallel", found.in_parallel)) {
    return false;
  }
  static const int noted = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr, std::memory_order_relaxed); });
  current = &found;
  return noted == 0;
}

const Executor* openmp_executor() {
  const Runtime* runtime = current.load(std::memory_order_relaxed);
  if (runtime == nullptr) return nullptr;
  thread_local Executor executor;
  const int threads = runtime->in_parallel() != 0 ? 1 : runtime->max_threads();
  executor = {.threads = threads < 1 ? 1 : threads, .run = &run, .context = const_cast<Runtime*>(runtime)};
  return &executor;
}

}  // namespace oriel::python
