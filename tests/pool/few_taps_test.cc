// Modes, sums, extrema and counts of rows of taps: every strategy gives the reference's results wherever it can.
#include <gtest/gtest.h>

#include "cpu/simd/stream.h"
#include "cpu/simd/targets.h"
#include "cpu/strategies.h"
#include "pool/statistic_case.h"
#include "seeds.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED
constexpr int kCases = 60;
#else
constexpr int kCases = 400;
#endif

Op random_op(std::mt19937_64& random, const std::string& strategy) {
  constexpr Op kVotes[] = {Op::mode, Op::nunique}, kExtrema[] = {Op::max, Op::min, Op::range};
  constexpr Op kBlocks[] = {Op::sum, Op::avg, Op::max, Op::min, Op::range, Op::any, Op::all, Op::count};
  if (strategy == "vote") return kVotes[random() % 2];
  return strategy == "chords" ? kExtrema[random() % 3] : kBlocks[random() % 8];
}

StatisticCase random_case(std::mt19937_64& random, const std::string& strategy) {
  for (;;) {
    StatisticCase c;
    const Problem base = random_problem(random, random() % 4 == 0 ? 6000 : 800);
    Pool pool{.op = random_op(random, strategy), .windows = base.pool.windows};
    pool.count_include_pad = random() % 2 == 0;
    if (pool.op != Op::avg) pool.count_include_pad = true;
    if (strategy == "chords") {
      pool.windows.stride = pool.windows.dilation = {1};
    } else if (random() % 2 == 0) {
      pool.nan = NanPolicy::omit;
    }
    add_options(random, base.dtype, pool);
    if (strategy == "chords") {
      pool.nodata.reset();
      pool.min_count = pool.op == Op::range ? 1 : 0;
      pool.min_fraction = 0;
    }
    if (random() % 4 != 0) pool.result_dtype.reset();
    try {
      c.problem = make_problem(pool, base.dtype, base.shape);
    } catch (const Error&) {
      continue;
    }
    if (c.problem.taps() > 300 || element_count(c.problem.output_shape) > 100000) continue;  // far padding has many
    c.data = kAllData[random() % 4];
    const index_t count = element_count(base.shape);
    c.x = fill(base.dtype, count, c.data, random);
    if (strategy != "chords" && random() % 3 == 0)
      for (index_t i = 0; i < count; ++i) c.mask.push_back(random() % 3 == 0 ? 0 : 1);
    return c;
  }
}

class FewTaps : public testing::TestWithParam<std::string> {
 protected:
  FewTaps() { cpu::force_strategies(GetParam()); }
  ~FewTaps() override {
    cpu::force_strategies("");
    cpu::set_target("");
    cpu::stream_bytes = stream_bytes_;
  }
  const index_t stream_bytes_ = cpu::stream_bytes;
};

TEST_P(FewTaps, S13_S20_AsTheReferenceWhereverTheyCan) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    const std::int64_t before = cpu::forced_jobs();
    for (int i = 0; i < kCases; ++i) {
      const std::vector<std::string> targets = cpu::supported_targets();
      cpu::set_target(targets[random() % targets.size()]);
      cpu::stream_bytes = random() % 2 == 0 ? 1 : stream_bytes_;
      const StatisticCase c = random_case(random, GetParam());
      const Options options{.threads = 1 + static_cast<int>(random() % 3)};
      const std::string wrong =
          check_statistic_forward(c, kWritableLayouts[random() % 5], kWritableLayouts[random() % 5], options);
      ASSERT_EQ(wrong, "") << "seed " << seed << " problem " << i << " by " << cpu::active_target();
    }
    EXPECT_GT(cpu::forced_jobs() - before, kCases / 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, FewTaps, testing::Values("vote", "valid_blocks", "chords"),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace oriel::test
