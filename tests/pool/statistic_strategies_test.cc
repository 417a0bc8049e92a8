// Every strategy for pools over valid taps gives the reference's results wherever it can, not only where it is chosen.
#include <gtest/gtest.h>

#include "cpu/simd/targets.h"
#include "cpu/strategies.h"
#include "pool/statistic_case.h"
#include "seeds.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED  // which takes several times as long
constexpr int kJobs = 30;
#else
constexpr int kJobs = 250;
#endif
constexpr int kMostProblems = 60000;

class StatisticForced : public testing::TestWithParam<std::string> {
 protected:
  ~StatisticForced() override {
    cpu::force_strategies("");
    cpu::set_target("");
  }
};

// Whether that strategy can do the job; the reference is asked only then.
bool can(const std::string& strategy, const StatisticCase& c, bool indexed) {
  const StatisticTensors operands(c, Layout::dense);
  const Placed y(c.problem.result, c.problem.output_shape, Layout::dense, nullptr);
  const Placed index(Dtype::i64, c.problem.output_shape, Layout::dense, nullptr);
  const ConstTensor mask = operands.mask_view(), weights = operands.weights_view();
  const Tensor places = index.view();
  const cpu::Statistic job{.problem = c.problem,
                           .x = operands.x.view(),
                           .y = y.view(),
                           .mask = mask.given() ? &mask : nullptr,
                           .weights = weights.given() ? &weights : nullptr,
                           .index = indexed ? &places : nullptr};
  for (const auto& s : cpu::statistics())
    if (s.name == strategy) return s.can(job);
  return false;
}

// Few random pools are what this strategy is for.
Pool widened(std::mt19937_64& random, const Pool& any) {
  constexpr Quantile kMethods[] = {Quantile::midpoint,     Quantile::midpoint, Quantile::lower, Quantile::higher,
                                   Quantile::inverted_cdf, Quantile::nearest,  Quantile::scipy};
  Pool pool;
  pool.windows = any.windows;
  pool.nan = any.nan;
  pool.fill = any.fill;
  pool.op = random() % 2 == 0 ? Op::median : Op::quantile;
  if (pool.op == Op::quantile) pool.q = {static_cast<double>(random() % 5) / 4};
  pool.method = kMethods[random() % std::size(kMethods)];
  pool.result_dtype = Dtype::f64;
  if (random() % 3 == 0) pool.footprint = any.footprint;
  return pool;
}

TEST_P(StatisticForced, S13_S20_AsTheReferenceWhereverItCan) {
  const std::vector<std::string> targets = cpu::supported_targets();
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int done = 0;
    [[maybe_unused]] const std::int64_t before = cpu::forced_jobs();
    for (int i = 0; i < kMostProblems && done < kJobs; ++i) {
      cpu::set_target(targets[random() % targets.size()]);
      std::function<void(Pool&)> change;
      if (GetParam() == "widened_ranks") change = [&](Pool& pool) { pool = widened(random, pool); };
      const StatisticCase c = random_statistic(random, random() % 8 == 0 ? 3000 : 200, change);
      if (!can(GetParam(), c, false)) continue;
      if (!c.problem.has_valid_taps() && c.mask.empty() && c.weights.empty()) continue;  // of another table
      ++done;
      cpu::force_strategies(GetParam());
      const Options options{.threads = 1 + static_cast<int>(random() % 3)};
      const std::string wrong =
          check_statistic_forward(c, kWritableLayouts[random() % 5], kWritableLayouts[random() % 5], options);
      cpu::force_strategies("");
      ASSERT_EQ(wrong, "") << "seed " << seed << " problem " << i << " on " << cpu::active_target();
    }
#ifndef HWY_COMPILE_ONLY_STATIC  // a build for one target may have no kernels
    EXPECT_GE(done, kJobs / 10) << "the strategy did too little";
    EXPECT_GE(cpu::forced_jobs() - before, done / 2);  // not all layouts, perhaps
#endif
  }
}

std::vector<std::string> statistic_names() {
  std::vector<std::string> all;
  for (const auto& s : cpu::statistics()) all.emplace_back(s.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Strategies, StatisticForced, testing::ValuesIn(statistic_names()),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace oriel::test
