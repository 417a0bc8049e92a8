// Runs problems under `valgrind --tool=callgrind --instr-atstart=no`, which counts the instructions of one call of
// each, made after a first one, and dumps them under the problem's name. Usage: oriel_count_instructions NAME...
#include <valgrind/callgrind.h>

#include <cstdio>
#include <string>
#include <vector>

#include "oriel/pool.h"

namespace {

using oriel::Problem;

// A tensor's memory; bytes whose values, in any type, are finite and vary.
struct Values {
  Values(const Problem& problem, const oriel::Extents& shape, oriel::Dtype dtype)
      : memory(static_cast<std::size_t>(oriel::element_count(shape) * oriel::size_bytes(dtype))),
        view(memory.data(), dtype, shape, oriel::dense_pitch(shape, problem.order)) {
    std::uint32_t state = 1;
    for (std::byte& b : memory) {
      state = state * 1664525U + 1013904223U;
      b = static_cast<std::byte>((state >> 24) & 0x3bU);
    }
  }
  std::vector<std::byte> memory;
  oriel::Tensor view;
};

class Call {
 public:
  explicit Call(const Problem& problem)
      : problem_(problem),
        x_(problem, problem.shape, problem.dtype),
        y_(problem, problem.output_shape, problem.dtype),
        dx_(problem, problem.shape, problem.dtype),
        indices_(problem, problem.output_shape, problem.codes ? oriel::Dtype::u8 : oriel::Dtype::i64) {
    if (problem.codes) oriel::forward(problem.pool, x_.view, y_.view, indices_.view, oriel::IndexSpace::window);
  }

  void run() const {
    constexpr oriel::Options one_thread{.threads = 1};
    const oriel::Pool& pool = problem_.pool;
    if (problem_.direction == oriel::Direction::backward) {
      const bool of_sum = pool.op == oriel::Op::sum || pool.op == oriel::Op::avg;
      if (problem_.codes)
        return oriel::backward(pool, y_.view, indices_.view, oriel::IndexSpace::window, dx_.view, one_thread);
      if (of_sum) return oriel::backward(pool, y_.view, dx_.view, one_thread);
      return oriel::backward(pool, x_.view, y_.view, dx_.view, one_thread);
    }
    const oriel::IndexSpace space = problem_.codes ? oriel::IndexSpace::window : oriel::IndexSpace::plane;
    if (problem_.indices || problem_.codes)
      return oriel::forward(pool, x_.view, y_.view, indices_.view, space, one_thread);
    oriel::forward(pool, x_.view, y_.view, one_thread);
  }

 private:
  const Problem& problem_;
  Values x_, y_, dx_, indices_;
};

}  // namespace

int main(int argc, char** argv) try {
  for (const std::string& name : std::vector<std::string>(argv + 1, argv + argc)) {
    const Problem problem = oriel::parse_problem(name);
    const Call call(problem);
    call.run();
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    call.run();
    CALLGRIND_DUMP_STATS_AT(name.c_str());
    CALLGRIND_STOP_INSTRUMENTATION;
  }
  std::puts(oriel::active_target().c_str());
  return 0;
} catch (const oriel::Error& error) {
  std::fprintf(stderr, "oriel_count_instructions: %s\n", error.what());
  return 1;
}
