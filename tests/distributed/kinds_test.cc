// HaloPlan::kinds against a visit to every rank.
#include <gtest/gtest.h>

#include <map>

#include "distributed/partitions.h"
#include "oriel/distributed/local_pool.h"
#include "pool/random_problem.h"
#include "support.h"

namespace oriel::test {
namespace {

using distributed::HaloPlan;
using distributed::LocalPool;
using distributed::Partition;
using distributed::Pass;

// Sizes of a rank's messages in a pass, and how far away in the grid their peers are.
std::string description(const HaloPlan& plan, Pass pass, index_t rank, const Extents& period) {
  LocalPool pool(plan.problem(), plan.inputs(), plan.outputs(), rank);
  if (!pool.has(pass)) return "";
  const Extents here = plan.inputs().coordinates(rank);
  std::string text = to_string(pool.inputs().shape()) + " " + to_string(pool.outputs().shape());
  for (int d = 0; d < period.size(); ++d) text += " " + std::to_string(here[d] % period[d]);
  for (const auto* list : {&pool.buffers(pass).send, &pool.buffers(pass).receive}) {
    text += " |";
    for (const distributed::Message& m : *list) {
      const Extents there = plan.inputs().coordinates(m.peer);
      text += " (";
      for (int d = 0; d < there.size(); ++d) text += std::to_string(there[d] - here[d]) + " ";
      text += std::to_string(m.bytes) + ")";
    }
  }
  const distributed::Exchange e = pass == Pass::forward ? plan.forward(rank) : plan.backward(rank);
  return text + " " + to_string(e.interior.shape()) + " " + to_string(e.needed.shape());
}

void check(const HaloPlan& plan, const Extents& period) {
  const std::vector<HaloPlan::Kind> kinds = plan.kinds(period);
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_indices, Pass::backward_inputs}) {
    std::map<std::string, index_t> every, grouped;
    for (index_t r = 0; r < plan.ranks(); ++r) ++every[description(plan, pass, r, period)];
    for (const HaloPlan::Kind& k : kinds) grouped[description(plan, pass, k.rank, period)] += k.count;
    ASSERT_EQ(every, grouped) << to_string(plan.problem()) << " " << text(plan.inputs()) << text(plan.outputs());
  }
}

TEST(Kinds, AreWhatAVisitToEveryRankFinds) {
  std::mt19937_64 random(41);
  for (int i = 0; i < 150; ++i) {
    const Problem problem = random_problem(random, 3000);
    const index_t ranks = pick(random, 1, 24);
    const Partition inputs = random_partition(random, problem.shape, ranks);
    Extents period;
    if (i % 2 == 0)
      for (int d = 0; d < problem.shape.size(); ++d) period.push_back(pick(random, 1, 3));
    check(HaloPlan(problem, inputs, centred_outputs(problem, inputs)), period);
    std::vector<distributed::Cuts> cuts;
    for (int d = 0; d < inputs.rank(); ++d)
      cuts.push_back(random_cuts(random, problem.output_shape[d], inputs.along(d).parts()));
    check(HaloPlan(problem, inputs, Partition(cuts)), period);
  }
}

TEST(Kinds, AreFewWhereThePartsAreAlike) {
  const Problem problem = parse_problem("max:f32:1x8x1024x1024x1024:k3x3x3s2p1");
  const Partition inputs = Partition::balanced(problem.shape, {1, 1, 64, 64, 64});
  const std::vector<HaloPlan::Kind> kinds = HaloPlan(problem, inputs, centred_outputs(problem, inputs)).kinds();
  EXPECT_EQ(kinds.size(), 27);  // first, last, between: along each axis
  index_t ranks = 0;
  for (const HaloPlan::Kind& k : kinds) ranks += k.count;
  EXPECT_EQ(ranks, 64 * 64 * 64);
}

TEST(Kinds, OfAMillionRanks) {
  const Problem problem = parse_problem("avg:f32:16000001:k7s3p3:axes0");
  const Partition inputs = Partition::balanced(problem.shape, {1000000});
  index_t ranks = 0;
  for (const HaloPlan::Kind& k : HaloPlan(problem, inputs, centred_outputs(problem, inputs)).kinds()) ranks += k.count;
  EXPECT_EQ(ranks, 1000000);
}

TEST(Kinds, RefuseABadPeriod) {
  const Problem problem = parse_problem("max:f32:8x8:k2");
  const HaloPlan plan(problem, Partition::balanced({8, 8}, {2, 2}), Partition::balanced({4, 4}, {2, 2}));
  const auto error_of = [&](const Extents& period) { return test::error_of([&] { plan.kinds(period); }); };
  EXPECT_EQ(error_of({2}), "halo plan: period must have one number for each axis, 2, but has 1");
  const HaloPlan other(problem, Partition::balanced({8, 8}, {2, 2}), Partition::balanced({4, 4}, {4, 1}));
  EXPECT_THROW(other.kinds(), Error);
  EXPECT_EQ(error_of({2, 0}), "halo plan: period must be >= 1, but axis 1 has 0");
}

}  // namespace
}  // namespace oriel::test
