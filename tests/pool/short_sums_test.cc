// Division of short sums by a multiplication: every sum and divisor. And that windows over many lanes, and averages of
// bytes, go by the kernels that are made for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#include "cpu/channels/channel_rows.h"
#include "cpu/element/quotient.h"
#include "cpu/element/sum_width.h"
#include "cpu/plan/layout.h"
#include "cpu/planes/planes.h"
#include "cpu/recipe/kernels.h"
#include "cpu/recipe/recipe.h"
#include "cpu/rows/rows.h"
#include "cpu/simd/targets.h"
#include "cpu/strategies.h"
#include "oriel/pool.h"

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

TEST(Strategies, ManyLanesAreFoldedInRegisters) {
  const auto folds = [](const cpu::FoldJob& job) {
    return std::string(cpu::strategy_of(job).name) == "channels" && cpu::lane_rows_of(job).fold != nullptr;
  };
  const char* taken[] = {"avg:f32:1x6x6x64:k3s1p1:axes1,2", "max:f32:1x6x6x64:k3s2p1:axes1,2",
                         "min:bf16:1x6x6x64:k2:axes1,2",    "avg:u8:1x6x6x64:k3s2:axes1,2",
                         "avg:i16:1x60x64:k4s2:axes1",      "sum:f16:1x60x64:k8s3d2:axes1"};
  for (const char* name : taken) EXPECT_EQ(with_job(name, folds), has_planes()) << name;
  const char* others[] = {"avg:f32:1x9x9x64:k5s1:axes1,2", "avg:f32:1x3x3x64:k3s1p3:axes1,2",
                          "max:f32:1x9x9x64:k3s1d2:axes1,2", "lp2:f32:1x6x6x64:k3s1:axes1,2"};
  for (const char* name : others) EXPECT_FALSE(with_job(name, folds)) << name;
}

TEST(Strategies, BytesAreAveragedInSixteenBits) {
  const auto bytes = [](const cpu::FoldJob& job) {
    return std::string(cpu::strategy_of(job).name) == "planes" && cpu::sums_in_16_bits(*job.problem);
  };
  EXPECT_EQ(with_job("avg:u8:1x1x200x200:k2x2", bytes), has_planes());
  EXPECT_EQ(with_job("sum:i8:1x1x200x200:k3x3s1", bytes), has_planes());
  EXPECT_EQ(with_job("avg:u8:1x1x200x200:k8x8:div15000", bytes), has_planes());
  EXPECT_FALSE(with_job("avg:u8:1x1x200x200:k8x8:div40000", bytes));
  EXPECT_FALSE(with_job("avg:u8:1x1x9x200x200:k3x8x8s1", bytes));  // 192 taps
}

TEST(Strategies, LongWindowsOfIntegersRun) {
  const auto runs = [](const cpu::FoldJob& job) { return std::string(cpu::strategy_of(job).name) == "running"; };
  for (const char* name : {"avg:u8:200x300:k31s1p15:exclude", "sum:i8:200x300:k9s3", "avg:i16:60x70x3:k11s2d2:axes0,1",
                           "sum:i32:1x5000:k400s160:axes1", "avg:u32:60x40:k20s1:axes0:div9"})
    EXPECT_TRUE(with_job(name, runs)) << name;
  for (const char* name :
       {"avg:f32:200x300:k31s1", "max:u8:200x300:k31s1", "avg:u8:200x300:k9s9", "avg:u8:200x300:k8s1",
        "avg:i64:200x300:k31s1", "lp1:i16:200x300:k31s1", "avg:i16:400x400:k200s1"})
    EXPECT_FALSE(with_job(name, runs)) << name;
}

// 192 taps of 171 are 32832, which a conversion in two steps may take for 64.
TEST(Sums, S7_BytesSaturateOnEveryTarget) {
  for (const char* name : {"sum:u8:1x1x3x8x40:k3x8x8s1", "sum:u8:40x60:k24x8s1", "sum:u8:1x24x24x3:k24x8s1:axes1,2",
                           "sum:u8:24x24x32:k24x8s1:axes0,1", "avg:u8:1x1x3x8x40:k3x8x8s1:div1"}) {
    const Problem problem = parse_problem(name);
    const std::vector<std::uint8_t> x(static_cast<std::size_t>(element_count(problem.shape)), 171);
    std::vector<std::uint8_t> y(static_cast<std::size_t>(element_count(problem.output_shape)));
    for (const std::string& target : cpu::supported_targets()) {
      cpu::set_target(target);
      std::fill(y.begin(), y.end(), 1);
      forward(problem.pool,
              {.x = ConstTensor(x.data(), problem.dtype, problem.shape, dense_pitch(problem.shape)),
               .y = Tensor(y.data(), problem.dtype, problem.output_shape, dense_pitch(problem.output_shape))});
      EXPECT_EQ(std::count(y.begin(), y.end(), 255), static_cast<std::ptrdiff_t>(y.size())) << name << ", " << target;
    }
  }
  cpu::set_target("");
}

// Every instruction set's division of rows of sums, at and beside the halves and at random.
template <class T>
void expect_quotients(Dtype dtype, index_t most_sum) {
  std::mt19937_64 random(7);
  for (index_t d = 1; d < most_sum / 2; d += d < 1100 ? 1 : 1 + static_cast<index_t>(random() % 100000)) {
    std::vector<std::int32_t> sums;
    const index_t most_half = 2 * (most_sum / d);
    for (int i = 0; i < 24; ++i) {
      const index_t half = static_cast<index_t>(random() % static_cast<std::uint64_t>(most_half)) + 1;
      for (index_t beside = -1; beside <= 1; ++beside) {
        sums.push_back(static_cast<std::int32_t>(std::clamp<index_t>(half * d / 2 + beside, 0, most_sum)));
      }
    }
    if (std::is_signed_v<T>) {
      for (std::size_t i = 0; i < sums.size(); i += 2) sums[i] = -sums[i];
    }
    const index_t n = static_cast<index_t>(sums.size());
    const RowRun run = {0, n, d, most_sum >> (8 * sizeof(T))};
    std::vector<T> got(sums.size());
    cpu::kernels().lower(cpu::Lower::average, cpu::Lane::i32, dtype)({sums.data(), nullptr, 0}, n, 1,
                                                                     {.runs = &run, .run_count = 1}, got.data(), 1, 1);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const index_t sum = std::abs(static_cast<index_t>(sums[i])), down = sum / d, rest = 2 * (sum % d);
      const index_t up = down + (rest > d || (rest == d && down % 2 == 1) ? 1 : 0);
      const index_t expected = std::clamp<index_t>(sums[i] < 0 ? -up : up, lowest_value<T>(), highest_value<T>());
      if (got[i] != expected) FAIL() << cpu::active_target() << ": " << sums[i] << " / " << d << " is " << +got[i];
    }
  }
}

TEST(Quotients, S7_RowsOfSumsOnEveryTarget) {
  for (const std::string& target : cpu::supported_targets()) {
    cpu::set_target(target);
    for (const index_t most : {(index_t{1} << 23) - (index_t{1} << 16), (index_t{1} << 31) - 1}) {
      expect_quotients<std::uint8_t>(Dtype::u8, most);
      expect_quotients<std::int8_t>(Dtype::i8, most);
      expect_quotients<std::uint16_t>(Dtype::u16, most);
      expect_quotients<std::int16_t>(Dtype::i16, most);
    }
  }
  cpu::set_target("");
}

}  // namespace
}  // namespace oriel::test
