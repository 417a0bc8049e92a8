// Random pools over valid taps against the reference: S13 to S20.
#include <gtest/gtest.h>

#include "pool/statistic_case.h"
#include "seeds.h"

namespace oriel::test {
namespace {

constexpr int kMostWrong = 20;

TEST(RandomStatistic, S13_S20_ProblemsAgreeWithTheReference) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int wrongs = 0;
    for (int i = 0; i < 4000; ++i) {
      const StatisticCase c = random_statistic(random, 200);
      const Layout in = kWritableLayouts[random() % 5], out = kWritableLayouts[random() % 5];
      const Options options{.threads = 1 + static_cast<int>(random() % 3)};
      std::string wrong;
      try {
        wrong = check_statistic_forward(c, in, out, options);
        if (wrong.empty()) wrong = check_statistic_backward(c, random, in, out, options);
      } catch (const Error& e) {
        wrong = fmt::format("{} throws: {}", c.text(), e.what());
      }
      if (wrong.empty()) continue;
      ADD_FAILURE() << "seed " << seed << " problem " << i << ": " << wrong;
      if (++wrongs == kMostWrong) FAIL() << "too many";
    }
  }
}

// A mask of ones, weights apart, is no mask: the same bits as without, which another engine makes.
TEST(RandomStatistic, S13_AMaskOfOnesChangesNoBit) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1500; ++i) {
      const Problem p = random_problem(random, 200);
      const Data data = kAllData[random() % 4];
      const std::vector<std::byte> x = fill(p.dtype, element_count(p.shape), data, random);
      const std::vector<std::uint8_t> ones(static_cast<std::size_t>(element_count(p.shape)), 1);
      const ConstTensor view(x.data(), p.dtype, p.shape), mask(ones.data(), p.shape);
      Placed plain(p.dtype, p.output_shape, Layout::dense, nullptr);
      forward(p.pool, {.x = view, .y = plain.view()});
      Placed other(p.dtype, p.output_shape, Layout::dense, nullptr);
      forward(p.pool, {.x = view, .y = other.view(), .mask = mask});
      ASSERT_EQ(reference::first_difference(p.dtype, plain.dense().data(), other.dense().data(),
                                            element_count(p.output_shape)),
                -1)
          << to_string(p) << " " << name(data) << " seed " << seed;
      if (!is_floating(p.dtype) || p.pool.op == Op::lp || data == Data::specials) continue;
      const std::vector<std::byte> dy = fill(p.dtype, element_count(p.output_shape), data, random);
      const ConstTensor above(dy.data(), p.dtype, p.output_shape);
      Placed dx(p.dtype, p.shape, Layout::dense, nullptr), masked_dx(p.dtype, p.shape, Layout::dense, nullptr);
      backward(p.pool, {.x = view, .dy = above, .dx = dx.view()});
      backward(p.pool, {.x = view, .dy = above, .dx = masked_dx.view(), .mask = mask});
      ASSERT_EQ(
          reference::first_difference(p.dtype, dx.dense().data(), masked_dx.dense().data(), element_count(p.shape)), -1)
          << "gradient of " << to_string(p) << " " << name(data) << " seed " << seed;
    }
  }
}

// Number of threads, memory layout and instruction set change no bit.
TEST(RandomStatistic, S13_S20_ThreadsLayoutsAndInstructionSetsChangeNoBit) {
  const std::string before = active_target();
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 400; ++i) {
      const StatisticCase c = random_statistic(random, 400);
      std::vector<std::byte> first;
      for (const std::string& target : supported_targets()) {
        set_target(target);
        for (const Layout layout : {Layout::dense, Layout::reversed_axes}) {
          const StatisticTensors operands(c, layout);
          Placed y(c.problem.result, c.problem.output_shape, layout, nullptr);
          forward(
              c.problem.pool,
              {.x = operands.x.view(), .y = y.view(), .mask = operands.mask_view(), .weights = operands.weights_view()},
              {.threads = layout == Layout::dense ? 1 : 2});
          if (first.empty()) first = y.dense();
          const index_t at = reference::first_difference(c.problem.result, first.data(), y.dense().data(),
                                                         element_count(c.problem.output_shape));
          ASSERT_EQ(at, -1) << c.text() << " " << target << " " << name(layout) << " seed " << seed;
        }
      }
    }
  }
  set_target(before);
}

}  // namespace
}  // namespace oriel::test
