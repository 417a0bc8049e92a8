// One call of a problem, forward or backward, and its tensors: what is counted and timed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "oriel/pool.h"

namespace oriel_bench {

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

// A tensor's memory, at the beginning of huge pages, which the system gives to whom it likes otherwise; bytes whose
// values, in any type, are finite and vary.
struct Values {
  static constexpr std::size_t kHugePage = std::size_t{1} << 21;
  static constexpr std::size_t kApart = 64;

  Values(const Problem& problem, const oriel::Extents& shape, oriel::Dtype dtype)
      : size(static_cast<std::size_t>(oriel::element_count(shape) * oriel::size_bytes(dtype))),
        memory(
            static_cast<std::byte*>(std::aligned_alloc(kHugePage, (kApart + size) / kHugePage * kHugePage + kHugePage)),
            &std::free),
        view(memory.get() + kApart, dtype, shape, oriel::dense_pitch(shape, problem.order)) {
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < size; ++i) {
      state = state * 1664525U + 1013904223U;
      memory.get()[kApart + i] = static_cast<std::byte>((state >> 24) & 0x3bU);
    }
  }

  void put(std::string_view data) {
    if (!oriel::is_floating(view.dtype)) return;
    oriel::visit(view.dtype, [&]<class T>() {
      const auto n = static_cast<std::size_t>(oriel::element_count(view.shape));
      T* x = reinterpret_cast<T*>(memory.get() + kApart);
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

  std::size_t size;
  std::unique_ptr<std::byte, decltype(&std::free)> memory;
  oriel::Tensor view;
};

class Call {
 public:
  /// `data`: what x holds, as count_instructions.cc says; "user" is a reduction of the caller's.
  Call(const Problem& problem, std::string_view data, int threads)
      : problem_(problem),
        threads_(threads),
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
    const oriel::Options options{.threads = threads_};
    const oriel::Pool& pool = problem_.pool;
    if (user_) return oriel::forward<UserSum>(pool.windows, {.x = x_.view, .y = y_.view}, options);
    if (problem_.direction == oriel::Direction::backward) {
      const bool of_sum = pool.op == oriel::Op::sum || pool.op == oriel::Op::avg;
      if (problem_.codes)
        return oriel::backward(
            pool, {.dy = y_.view, .indices = indices_.view, .space = oriel::IndexSpace::window, .dx = dx_.view},
            options);
      if (problem_.indices)
        return oriel::backward(pool, {.dy = y_.view, .indices = indices_.view, .dx = dx_.view}, options);
      if (of_sum && pool.nan == oriel::NanPolicy::propagate)
        return oriel::backward(pool, {.dy = y_.view, .dx = dx_.view}, options);
      return oriel::backward(pool, {.x = x_.view, .dy = y_.view, .dx = dx_.view}, options);
    }
    const oriel::IndexSpace space = problem_.codes ? oriel::IndexSpace::window : oriel::IndexSpace::plane;
    if (problem_.indices || problem_.codes)
      return oriel::forward(pool, {.x = x_.view, .y = y_.view, .indices = indices_.view, .space = space}, options);
    oriel::forward(pool, {.x = x_.view, .y = y_.view}, options);
  }

 private:
  const Problem problem_;
  const int threads_;
  const bool user_;
  Values x_, y_, dx_, indices_;
};

}  // namespace oriel_bench
