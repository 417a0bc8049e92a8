// Runs problems under `valgrind --tool=callgrind --instr-atstart=no`, which counts the instructions of one call of
// each, made after a first one, and dumps them under the problem's name. Usage: oriel_count_instructions NAME...
// A name may end with what its input holds: @nan and @zero, one NaN or negative zero among other numbers; @nans, every
// other number is a NaN; @zeros, nothing but zeros, every third negative; @falling, numbers that fall. @user: a sum
// that is a reduction of the caller's instead of the op.
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "oriel/pool.h"

namespace {

using oriel::Problem;

// A reduction of the caller's.
struct UserSum {
  using Input = float;
  using Accumulator = double;
  using Output = float;
  static double identity() { return 0; }
  static double lift(float x) { return x; }
  static double combine(double a, double b) { return a + b; }
  static float lower(double a, oriel::WindowCount) { return static_cast<float>(a); }
};

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

  void put(std::string_view data) {
    if (!oriel::is_floating(view.dtype)) return;
    oriel::visit(view.dtype, [&]<class T>() {
      const auto n = static_cast<std::size_t>(oriel::element_count(view.shape));
      T* x = reinterpret_cast<T*>(memory.data());
      const T nan = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      if (data == "nan") x[n / 4 * 3] = nan;
      if (data == "zero") x[n / 4 * 3] = static_cast<T>(-0.0F);
      for (std::size_t i = 0; i < n; ++i) {
        if (data == "nans" && i % 2 == 1) x[i] = nan;
        if (data == "zeros") x[i] = static_cast<T>(i % 3 == 1 ? -0.0F : 0.0F);
        if (data == "falling") x[i] = static_cast<T>(1 - static_cast<float>(i) / static_cast<float>(n));
      }
    });
  }

  std::vector<std::byte> memory;
  oriel::Tensor view;
};

class Call {
 public:
  Call(const Problem& problem, std::string_view data)
      : problem_(problem),
        user_(data == "user"),
        x_(problem, problem.shape, problem.dtype),
        y_(problem, problem.output_shape, problem.dtype),
        dx_(problem, problem.shape, problem.dtype),
        indices_(problem, problem.output_shape, problem.codes ? oriel::Dtype::u8 : oriel::Dtype::i64) {
    x_.put(data);
    if (problem.codes)
      oriel::forward(problem.pool,
                     {.x = x_.view, .y = y_.view, .indices = indices_.view, .space = oriel::IndexSpace::window});
    if (problem.indices) oriel::forward(problem.pool, {.x = x_.view, .y = y_.view, .indices = indices_.view});
  }

  void run() const {
    constexpr oriel::Options one_thread{.threads = 1};
    const oriel::Pool& pool = problem_.pool;
    if (user_) return oriel::forward<UserSum>(pool.windows, {.x = x_.view, .y = y_.view}, one_thread);
    if (problem_.direction == oriel::Direction::backward) {
      const bool of_sum = pool.op == oriel::Op::sum || pool.op == oriel::Op::avg;
      if (problem_.codes)
        return oriel::backward(
            pool, {.dy = y_.view, .indices = indices_.view, .space = oriel::IndexSpace::window, .dx = dx_.view},
            one_thread);
      if (problem_.indices)
        return oriel::backward(pool, {.dy = y_.view, .indices = indices_.view, .dx = dx_.view}, one_thread);
      if (of_sum && pool.nan == oriel::NanPolicy::propagate)
        return oriel::backward(pool, {.dy = y_.view, .dx = dx_.view}, one_thread);
      return oriel::backward(pool, {.x = x_.view, .dy = y_.view, .dx = dx_.view}, one_thread);
    }
    const oriel::IndexSpace space = problem_.codes ? oriel::IndexSpace::window : oriel::IndexSpace::plane;
    if (problem_.indices || problem_.codes)
      return oriel::forward(pool, {.x = x_.view, .y = y_.view, .indices = indices_.view, .space = space}, one_thread);
    oriel::forward(pool, {.x = x_.view, .y = y_.view}, one_thread);
  }

 private:
  const Problem& problem_;
  const bool user_;
  Values x_, y_, dx_, indices_;
};

}  // namespace

int main(int argc, char** argv) try {
  for (const std::string& name : std::vector<std::string>(argv + 1, argv + argc)) {
    const std::size_t end = std::min(name.find('@'), name.size());
    const Problem problem = oriel::parse_problem(name.substr(0, end));
    const Call call(problem, std::string_view(name).substr(std::min(end + 1, name.size())));
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
