// Gradients of pools over valid taps: against differences of results, and the same bits everywhere.
#include <gtest/gtest.h>

#include "pool/statistic_case.h"
#include "seeds.h"

namespace oriel::test {
namespace {

// Ops whose results are smooth in every tap, and sums.
constexpr Op kSmooth[] = {Op::sum,  Op::avg, Op::lp,   Op::var, Op::std, Op::rms,
                          Op::prod, Op::geo, Op::harm, Op::lse, Op::soft};

// Problems of those ops for f64, with numbers from 0.5 to 2.
StatisticCase smooth_case(std::mt19937_64& random) {
  for (;;) {
    StatisticCase c = random_statistic(random, 40);
    Pool pool{.op = kSmooth[random() % std::size(kSmooth)], .windows = c.problem.pool.windows};
    pool.footprint = c.problem.pool.footprint;
    pool.count_include_pad = false;
    pool.min_count = c.problem.pool.min_count;
    if (pool.op == Op::lp) pool.norm = random() % 2 == 0 ? 2 : 3;
    if (pool.op == Op::lse) {
      pool.sharpness = 1.5;
      pool.sum_of_exponentials = random() % 2 == 0;
    }
    if (random() % 3 == 0) pool.nodata = std::nan("");
    if (random() % 4 == 0) pool.nan = NanPolicy::omit;
    try {
      c.problem = make_problem(pool, Dtype::f64, c.problem.shape);
    } catch (const Error&) {
      continue;
    }
    const auto count = static_cast<std::size_t>(element_count(c.problem.shape));
    std::vector<double> x(count);
    const bool hides_nan = pool.nodata || pool.nan == NanPolicy::omit;
    for (std::size_t i = 0; i < count; ++i) {
      x[i] = 0.5 + static_cast<double>(random() % 1000) * 0.0015;
      const bool masked = !c.mask.empty() && c.mask[i] == 0;
      if ((hides_nan || masked) && random() % 5 == 0) x[i] = std::nan("");
    }
    c.x.resize(count * sizeof(double));
    std::memcpy(c.x.data(), x.data(), c.x.size());
    c.weights.clear();
    if (random() % 2 == 0 && detail::has_weights(pool))
      for (std::size_t i = 0; i < count; ++i) c.weights.push_back(static_cast<double>(random() % 4) / 2);
    return c;
  }
}

std::vector<double> result(const StatisticCase& c, const std::vector<double>& x) {
  const Problem& p = c.problem;
  std::vector<double> y(static_cast<std::size_t>(element_count(p.output_shape)));
  forward(p, {.x = ConstTensor(x.data(), p.shape),
              .y = Tensor(y.data(), p.output_shape),
              .mask = c.mask.empty() ? ConstTensor() : ConstTensor(c.mask.data(), p.shape),
              .weights = c.weights.empty() ? ConstTensor() : ConstTensor(c.weights.data(), p.shape)});
  return y;
}

std::vector<double> gradient(const StatisticCase& c, const std::vector<double>& x, const std::vector<double>& dy) {
  const Problem& p = c.problem;
  std::vector<double> dx(x.size());
  backward(p, {.x = ConstTensor(x.data(), p.shape),
               .dy = ConstTensor(dy.data(), p.output_shape),
               .dx = Tensor(dx.data(), p.shape),
               .mask = c.mask.empty() ? ConstTensor() : ConstTensor(c.mask.data(), p.shape),
               .weights = c.weights.empty() ? ConstTensor() : ConstTensor(c.weights.data(), p.shape)});
  return dx;
}

// The sum of y times dy; a result that too few taps made a NaN does not depend on x. The root of a variance near 0 does
// not have a slope that differences show, so such windows count for nothing.
std::vector<double> without_flat_windows(const StatisticCase& c, const std::vector<double>& y, std::vector<double> dy) {
  for (std::size_t o = 0; o < y.size(); ++o)
    if (std::isnan(y[o]) || (c.problem.pool.op == Op::std && y[o] < 0.02)) dy[o] = 0;
  return dy;
}

double product(const std::vector<double>& y, const std::vector<double>& dy) {
  double sum = 0;
  for (std::size_t o = 0; o < y.size(); ++o)
    if (dy[o] != 0) sum += y[o] * dy[o];
  return sum;
}

TEST(StatisticGradient, S18_S19_AreTheLimitsOfDifferences) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 400; ++i) {
      const StatisticCase c = smooth_case(random);
      std::vector<double> x(c.x.size() / sizeof(double)), dy;
      std::memcpy(x.data(), c.x.data(), c.x.size());
      const std::vector<double> y = result(c, x);
      for (std::size_t o = 0; o < y.size(); ++o) dy.push_back(static_cast<double>(random() % 5) - 2);
      dy = without_flat_windows(c, y, dy);
      const std::vector<double> dx = gradient(c, x, dy);
      for (std::size_t e = 0; e < x.size(); ++e) {
        if (std::isnan(x[e])) {  // left out, masked or no data
          EXPECT_EQ(dx[e], 0) << c.text() << " seed " << seed;
          continue;
        }
        constexpr double kStep = 1e-5;
        std::vector<double> above = x, below = x;
        above[e] += kStep;
        below[e] -= kStep;
        const double up = product(result(c, above), dy), down = product(result(c, below), dy);
        const double scale = 1 + std::fabs(up) + std::fabs(down) + std::fabs(dx[e]);
        ASSERT_NEAR(dx[e], (up - down) / (2 * kStep), 2e-6 * scale) << c.text() << " element " << e << " seed " << seed;
      }
    }
  }
}

TEST(StatisticGradient, S9_ThreadsLayoutsAndInstructionSetsChangeNoBit) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int checked = 0;
    while (checked < 200) {
      const StatisticCase c = random_statistic(random, 300);
      const Problem& p = c.problem;
      if (!is_floating(p.dtype) || !detail::has_gradient(p.pool)) continue;
      ++checked;
      const std::vector<std::byte> dy = fill(p.result, element_count(p.output_shape), Data::reals, random);
      std::vector<std::byte> first;
      for (const std::string& target : supported_targets()) {
        set_target(target);
        for (const Layout layout : {Layout::dense, Layout::reversed_axes, Layout::backward_pitch}) {
          const StatisticTensors operands(c, layout);
          const Placed above(p.result, p.output_shape, layout, dy.data());
          const Placed dx(p.dtype, p.shape, layout, nullptr);
          backward(p.pool,
                   {.x = operands.x.view(),
                    .dy = above.view(),
                    .dx = dx.view(),
                    .mask = operands.mask_view(),
                    .weights = operands.weights_view()},
                   {.threads = 1 + static_cast<int>(random() % 3)});
          ASSERT_TRUE(dx.guards_survive()) << c.text();
          if (first.empty()) first = dx.dense();
          ASSERT_EQ(reference::first_difference(p.dtype, first.data(), dx.dense().data(), element_count(p.shape)), -1)
              << c.text() << " " << target << " " << name(layout) << " seed " << seed;
        }
      }
      set_target("");
    }
  }
}

// With indices of the forward call the gradient is the one from x, whichever taps are valid.
TEST(StatisticGradient, S10_IndicesGiveTheGradientFromX) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    int checked = 0;
    while (checked < 300) {
      const StatisticCase c = random_statistic(random, 200);
      const Problem& p = c.problem;
      if (!is_floating(p.dtype) || p.result != p.dtype || !detail::selects_tap(p.pool) || p.pool.op == Op::mode)
        continue;
      if (p.pool.q.size() > 1) continue;
      ++checked;
      const StatisticTensors operands(c, Layout::dense);
      const Placed y(p.dtype, p.output_shape, Layout::dense, nullptr);
      const Placed indices(Dtype::i64, p.output_shape, Layout::dense, nullptr);
      forward(p.pool, {.x = operands.x.view(),
                       .y = y.view(),
                       .indices = indices.view(),
                       .mask = operands.mask_view(),
                       .weights = operands.weights_view()});
      const std::vector<std::byte> dy = fill(p.dtype, element_count(p.output_shape), Data::integers, random);
      const Placed above(p.dtype, p.output_shape, Layout::dense, dy.data());
      const Placed from_x(p.dtype, p.shape, Layout::dense, nullptr), stored(p.dtype, p.shape, Layout::dense, nullptr);
      backward(p.pool, {.x = operands.x.view(),
                        .dy = above.view(),
                        .dx = from_x.view(),
                        .mask = operands.mask_view(),
                        .weights = operands.weights_view()});
      backward(p.pool, {.dy = above.view(), .indices = indices.view(), .dx = stored.view()});
      const std::vector<std::byte> a = from_x.dense(), b = stored.dense();
      for (index_t e = 0; e < element_count(p.shape); ++e)  // sums of whole numbers: only a zero's sign may differ
        ASSERT_EQ(reference::element(p.dtype, a.data(), e), reference::element(p.dtype, b.data(), e))
            << c.text() << " element " << e << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace oriel::test
