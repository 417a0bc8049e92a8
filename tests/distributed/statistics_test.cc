// Pools over valid taps, masks and weights: every partition gives the bits of the undivided call (S13 to S20).
#include "distributed/statistics.h"

#include <gtest/gtest.h>

#include "distributed/in_turns.h"
#include "seeds.h"

namespace oriel::test {
namespace {

using distributed::Beside;
using distributed::LocalPool;
using distributed::Partition;
using distributed::Pass;

// What was tried, so that a generator that never makes masks fails.
struct Seen {
  int masks = 0, weights = 0, shared = 0, gradients = 0, indices = 0, other_dtypes = 0;

  void add(const Whole& whole) {
    const Beside& beside = whole.beside.shapes;
    masks += !beside.mask.empty() ? 1 : 0;
    weights += !beside.weights.empty() ? 1 : 0;
    shared += beside.any() && element_count(beside.mask.empty() ? beside.weights : beside.mask) <
                                  element_count(whole.problem.shape)
                  ? 1
                  : 0;
    gradients += whole.has[static_cast<int>(Pass::backward_inputs)] ? 1 : 0;
    indices += whole.has[static_cast<int>(Pass::backward_indices)] ? 1 : 0;
    other_dtypes += whole.problem.result != whole.problem.dtype ? 1 : 0;
  }
  int least() const { return std::min({masks, weights, shared, gradients, indices, other_dtypes}); }
};

TEST(DistributedStatistics, RandomPartitionsOfRandomProblems) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    Seen seen;
    for (int i = 0; i < 1500; ++i) {
      const Whole whole = random_whole_statistic(random, i % 20 == 0 ? 2000 : 250);
      seen.add(whole);
      const Problem& problem = whole.problem;
      const index_t ranks = std::array<index_t, 8>{1, 2, 3, 4, 5, 7, 8, 12}[random() % 8];
      const Partition inputs = random_partition(random, problem.shape, ranks);
      const Partition outputs =
          random() % 2 == 0 ? centred_outputs(problem, inputs) : random_partition(random, problem.output_shape, ranks);
      ASSERT_EQ(check_in_turns(whole, inputs, outputs, random() % 2 == 0), "")
          << "seed " << seed << " case " << i << " mask " << to_string(whole.beside.shapes.mask) << " weights "
          << to_string(whole.beside.shapes.weights);
    }
    EXPECT_GT(seen.least(), 20);
  }
}

// Interiors large enough for every way of computing, in bands while messages travel.
TEST(DistributedStatistics, LargerTensors) {
  std::mt19937_64 random(seeds()[1]);
  for (const char* problem_name :
       {"median:u8:2x300x200:k9x9s1p4:axes1,2", "median:f32:1x200x300:k3x3s1p1:axes1,2:mask",
        "q0.9linear:f32:1x150x90:k5x5s2p2:axes1,2:nodata0", "mode:i32:1x60x70x40:k2s2:axes1,2,3",
        "var:f32:1x300x200:k7x7s1p3:axes1,2", "var:u8:400x300:k9x9s3p4:mask", "count:u8:500x400:k5x5s2:nodata0",
        "max:f32:400x300:k11x11s1p5:disk5", "avg:f32:2x300x200:k5x5s2:axes1,2:mask:weights:min3",
        "sum:f64:500x200:k4x4s1:weights", "mode:u8:200x300:k3s1p1:weights", "lse2:f32:300x200:k3s2p1:mask",
        "nunique:u16:300x200:k5s2", "range:i16:300x300:k9s1p4:mask"}) {
    const Problem problem = parse_problem(problem_name);
    DividedBeside beside;
    const index_t count = element_count(problem.shape);
    if (problem.mask) {
      beside.shapes.mask = problem.shape;
      beside.mask = fill(Dtype::boolean, count, Data::integers, random);
    }
    if (problem.weights) {
      beside.shapes.weights = problem.shape;
      for (index_t i = 0; i < count; ++i) {
        const double weight = static_cast<double>(random() % 5) / 2;
        const auto* const bytes = reinterpret_cast<const std::byte*>(&weight);
        beside.weights.insert(beside.weights.end(), bytes, bytes + sizeof weight);
      }
    }
    const Whole whole(problem, beside, fill(problem.dtype, count, Data::spread, random), Data::spread, random);
    for (index_t ranks : {2, 3}) {
      const Partition inputs = random_partition(random, problem.shape, ranks);
      ASSERT_EQ(check_in_turns(whole, inputs, centred_outputs(problem, inputs), false), "");
    }
  }
}

TEST(DistributedStatistics, WhatCannotBeDividedIsRefused) {
  const auto refuses = [](const char* name, const Beside& beside) -> std::string {
    const Problem p = parse_problem(name);
    const Extents one = Extents::filled(p.shape.size(), 1);
    try {
      const LocalPool pool(p, Partition::balanced(p.shape, one), Partition::balanced(p.shape, one), 0, beside);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refuses("q0.25,0.75:f32:6:k3s1p1", {}), "distributed pool: q must be 1 value, but has 2");
  EXPECT_EQ(refuses("max:f32:6:k3s1p1", {.weights = {6}}),
            "max_pool: weights are for sum, avg, var, std, rms, mode, and median and quantile with method inverted_cdf "
            "only, but op is max");
  EXPECT_EQ(refuses("avg:f32:6:k3s1p1", {.weights = {6}}),
            "avg_pool: weights need count_include_pad to be false if there is padding");
  EXPECT_EQ(
      refuses("max:f32:2x6:k3s1p1:axes1", {.mask = {2, 1}}),
      "distributed max_pool: mask must have the shape of x, 2x6, or 1 along axes that are not pooled, but has 2x1");
  EXPECT_EQ(refuses("max:f32:2x6:k3s1p1:axes1", {.mask = {1, 6}}), "");
}

TEST(DistributedStatistics, WrongOperandsAreRefusedBeforeAnythingIsSent) {
  const Problem p = parse_problem("sum:f32:2x6:k3s1p1:axes1");
  const Partition inputs({distributed::Cuts({0, 2}), distributed::Cuts({0, 4, 6})});
  const LocalPool pool(p, inputs, centred_outputs(p, inputs), 1, {.mask = {1, 6}, .weights = {2, 6}});
  EXPECT_EQ(to_string(pool.beside_shape({1, 6})), "1x2");
  std::vector<float> x(4), y(8);  // as many bytes as the doubles that one call takes for weights
  std::vector<double> weights(4, 1);
  std::vector<std::uint8_t> mask(2, 1);
  const auto error = [&](const ConstTensor& m, const ConstTensor& w) -> std::string {
    distributed::Operands o;
    o.x = ConstTensor(x.data(), Dtype::f32, {2, 2});
    o.y = Tensor(y.data(), Dtype::f32, {2, 2});
    o.mask = m;
    o.weights = w;
    try {
      pool.check(Pass::forward, o);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const ConstTensor m(mask.data(), Dtype::u8, {1, 2}), w(weights.data(), Dtype::f64, {2, 2});
  EXPECT_EQ(error(m, w), "");
  EXPECT_EQ(error({}, w), "distributed sum_pool forward: mask must be given, but the pool was made with mask");
  EXPECT_EQ(error(ConstTensor(mask.data(), Dtype::i8, {1, 2}), w),
            "distributed sum_pool forward: mask must have dtype bool or u8, but has i8");
  EXPECT_EQ(error(ConstTensor(mask.data(), Dtype::u8, {2, 1}), w),
            "distributed sum_pool forward: mask must have the shape of rank 1's part, 1x2, but has 2x1");
  EXPECT_EQ(error(m, ConstTensor(x.data(), Dtype::f32, {2, 2})),
            "distributed sum_pool forward: weights must have dtype f64, but has f32");
  EXPECT_EQ(error(m, ConstTensor(y.data(), Dtype::f64, {2, 2})),
            "distributed sum_pool forward: weights and y must not share memory, but they overlap");
  weights[3] = std::nan("");
  EXPECT_EQ(error(m, w), "sum_pool: weights must be finite, but that at (1, 1) is not");
}

}  // namespace
}  // namespace oriel::test
