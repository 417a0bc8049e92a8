// Division of short sums by a multiplication: every sum and divisor. And that windows over many lanes, and averages of
// bytes, go by the kernels that are made for them.
#include <gtest/gtest.h>

#include "cpu/lane_rows.h"
#include "cpu/layout.h"
#include "cpu/plane_way.h"
#include "cpu/quotient.h"
#include "cpu/recipe.h"
#include "cpu/row_fold.h"
#include "cpu/targets.h"
#include "cpu/ways.h"

namespace oriel::test {
namespace {

TEST(ShortQuotient, S7_EverySumAndDivisor) {
#ifdef ORIEL_SANITIZED
  constexpr index_t kStep = 97;  // of divisors beyond those that windows have
#else
  constexpr index_t kStep = 1;
#endif
  for (index_t d = 1; d < cpu::ShortQuotient::kMost; d += d < 600 ? 1 : kStep) {
    const cpu::ShortQuotient quotient(d);
    for (index_t sum = 0; cpu::ShortQuotient::holds(sum, d); ++sum) {
      const index_t down = sum / d, rest = 2 * (sum % d);
      const index_t expected = down + (rest > d || (rest == d && down % 2 == 1) ? 1 : 0);
      const index_t got = quotient.of(static_cast<std::uint16_t>(sum));
      if (got != expected) FAIL() << sum << " / " << d << " is " << got << " instead of " << expected;
    }
  }
}

// A fold of dense tensors, and what is asked of it.
template <class F>
auto with_job(const char* name, const F& f) {
  const Problem problem = parse_problem(name);
  const ConstTensor x(nullptr, problem.dtype, problem.shape, dense_pitch(problem.shape));
  const Tensor y(nullptr, problem.dtype, problem.output_shape, dense_pitch(problem.output_shape));
  return f(cpu::FoldJob{.layout = cpu::make_layout(problem, problem.axis, x, y, nullptr, IndexSpace::plane),
                        .plain = cpu::plain_recipe(problem),
                        .problem = &problem});
}
bool has_planes() { return cpu::active_target() == "AVX2" || cpu::active_target().substr(0, 4) == "AVX3"; }

TEST(Ways, ManyLanesAreFoldedInRegisters) {
  const auto folds = [](const cpu::FoldJob& job) {
    return std::string(cpu::way_of(job).name) == "columns" && cpu::lane_rows_of(job).fold != nullptr;
  };
  const char* taken[] = {"avg:f32:1x6x6x64:k3s1p1:axes1,2", "max:f32:1x6x6x64:k3s2p1:axes1,2",
                         "min:bf16:1x6x6x64:k2:axes1,2",    "avg:u8:1x6x6x64:k3s2:axes1,2",
                         "avg:i16:1x60x64:k4s2:axes1",      "sum:f16:1x60x64:k8s3d2:axes1"};
  for (const char* name : taken) EXPECT_EQ(with_job(name, folds), has_planes()) << name;
  const char* others[] = {"avg:f32:1x9x9x64:k5s1:axes1,2", "avg:f32:1x3x3x64:k3s1p3:axes1,2",
                          "max:f32:1x9x9x64:k3s1d2:axes1,2", "lp2:f32:1x6x6x64:k3s1:axes1,2"};
  for (const char* name : others) EXPECT_FALSE(with_job(name, folds)) << name;
}

TEST(Ways, BytesAreAveragedInSixteenBits) {
  const auto bytes = [](const cpu::FoldJob& job) {
    return std::string(cpu::way_of(job).name) == "planes" && cpu::sums_in_16_bits(*job.problem);
  };
  EXPECT_EQ(with_job("avg:u8:1x1x200x200:k2", bytes), has_planes());
  EXPECT_EQ(with_job("sum:i8:1x1x200x200:k3s1", bytes), has_planes());
  EXPECT_EQ(with_job("avg:u8:1x1x200x200:k8:div15000", bytes), has_planes());
  EXPECT_FALSE(with_job("avg:u8:1x1x200x200:k8:div40000", bytes));
  EXPECT_FALSE(with_job("avg:u8:1x1x9x200x200:k3x8x8s1", bytes));  // 192 taps
}

}  // namespace
}  // namespace oriel::test
