// DistDL's own cases, the cases that it gets wrong or refuses, products of gradients, and what is refused here.
#include <gtest/gtest.h>

#include "distributed/in_turns.h"
#include "support.h"

namespace oriel::test {
namespace {

using distributed::Cuts;
using distributed::DistributedPool;
using distributed::InProcess;
using distributed::LocalPool;
using distributed::Operands;
using distributed::Partition;
using distributed::Pass;

std::string check(const char* problem_name, const Partition& inputs, const Partition& outputs) {
  std::mt19937_64 random(3);
  const Whole whole(parse_problem(problem_name), Data::spread, random);
  return check_in_turns(whole, inputs, outputs, false);
}

// Balanced inputs and outputs on a grid, as DistDL divides them.
std::string check_balanced(const char* problem_name, const Extents& grid) {
  const Problem p = parse_problem(problem_name);
  return check(problem_name, Partition::balanced(p.shape, grid), Partition::balanced(p.output_shape, grid));
}

// The parametrisations of DistDL's tests/layers/test_pooling.py, with both of its ops; some averages are dilated, which
// DistDL leaves out.
TEST(DistributedCases, DistDLsOwn) {
  const std::pair<const char*, Extents> cases[] = {
      {"1x1x10x10:k3x3s1p1", {1, 1, 2, 2}},
      {"1x1x10x10:k5x5s2p2", {1, 1, 2, 2}},
      {"1x1x5x5:k3x3s2p1", {1, 1, 2, 2}},
      {"1x1x6x10:k5x5s4p2", {1, 1, 2, 2}},
      {"1x1x10x8:k5x5s1p1", {1, 1, 2, 2}},
      {"1x1x8x8:k4x4s1p1", {1, 1, 2, 2}},
      {"1x1x5x5x6:k5s2x2x1p2", {1, 1, 2, 1, 2}},
      {"1x1x15:k3s1p1:axes2", {1, 1, 4}},
      {"1x1x10x10:k5x5s1p1d2", {1, 1, 2, 2}},
      {"1x1x10x10:k5x5s2p2", {1, 1, 4, 4}},
      {"1x1x50x50x50:k5x4x3s3x1x2p1d3x3x1", {1, 1, 3, 3, 2}},
      {"2x8x150x150:k7x7s2p3", {1, 1, 1, 4}},
  };
  for (const auto& [window, grid] : cases) {
    for (const char* op : {"max", "avg"}) {
      EXPECT_EQ(check_balanced((std::string(op) + ":f32:" + window).c_str(), grid), "");
    }
  }
}

// Where DistDL a641638 is wrong, refuses or waits for ever.

Partition line(const std::vector<index_t>& bounds) { return Partition({Cuts({0, 1}), Cuts({0, 1}), Cuts(bounds)}); }
std::string check_centred(const char* problem_name, const std::vector<index_t>& bounds) {
  return check(problem_name, line(bounds), centred_outputs(parse_problem(problem_name), line(bounds)));
}

TEST(WhereDistDLFails, HalosWiderThanTheNeighbour) {  // silently wrong values
  EXPECT_EQ(check_balanced("max:f32:1x1x16:k7s1p3:axes2", {1, 1, 8}), "");
  // over ranks that own nothing
  EXPECT_EQ(check("max:f32:1x1x10:k3s2p1:axes2", line({0, 5, 6, 6, 10}), line({0, 3, 3, 3, 5})), "");
  EXPECT_EQ(check("max:f32:1x1x10:k3s2p1:axes2", line({0, 5, 6, 6, 10}), line({0, 0, 0, 5, 5})), "");
}

TEST(WhereDistDLFails, UnequalParts) {  // too many outputs, or wrong ones
  EXPECT_EQ(check_centred("max:f32:1x1x10:k2s2:axes2", {0, 8, 10}), "");
  EXPECT_EQ(check_centred("avg:f32:1x1x16:k2s2:axes2", {0, 10, 16}), "");
  EXPECT_EQ(check_centred("max:f32:1x1x12:k3s2p1:axes2", {0, 8, 12}), "");
}

TEST(WhereDistDLFails, MoreRanksThanOutputs) {  // an exception on the empty ranks, for which the others wait for ever
  EXPECT_EQ(check_balanced("max:f32:1x1x5:k3s2p1:axes2", {1, 1, 7}), "");
  EXPECT_EQ(check_balanced("avg:f32:1x1x3:k3s1p1:exclude:axes2", {1, 1, 12}), "");
}

TEST(WhereDistDLFails, PaddingAndDilation) {  // right there too, although its manual warns; averages are refused
  EXPECT_EQ(check_balanced("max:f32:1x1x20:k3s2p2d3:axes2", {1, 1, 4}), "");
  EXPECT_EQ(check_balanced("avg:f32:1x1x20:k3s2p2d3:axes2", {1, 1, 4}), "");
}

TEST(WhereDistDLFails, AveragesWithoutPaddingAndCeilMode) {
  EXPECT_EQ(check_balanced("avg:f32:1x1x21x9:k3x3s2p1:ceil:exclude", {1, 1, 3, 2}), "");
}

TEST(WhereDistDLFails, StridesAboveTheWindow) {  // right there where parts are balanced
  EXPECT_EQ(check_balanced("max:f32:1x1x12:k1s3:axes2", {1, 1, 2}), "");
  EXPECT_EQ(check_centred("max:f32:1x1x12:k1s3:axes2", {0, 8, 12}), "");
  EXPECT_EQ(check_centred("avg:f32:1x1x23:k2s5p1:axes2", {0, 1, 2, 20, 23}), "");
}

TEST(WhereDistDLFails, BatchAndChannelsDivided) {
  const Partition in({Cuts({0, 3, 4}), Cuts({0, 1, 6}), Cuts::balanced(9, 1)});
  const Partition out({Cuts({0, 4}), Cuts({0, 0, 2, 2, 6}), Cuts::balanced(4, 1)});
  EXPECT_EQ(check("max:f32:4x6x9:k3s2:axes2", in, out), "");
  const Partition shifted({Cuts({0, 2, 2}), Cuts({0, 1}), Cuts({0, 5})});
  EXPECT_EQ(check("max:f32:2x1x5:k1s1:axes2", shifted, Partition::balanced({2, 1, 5}, {2, 1, 1})), "");
}

TEST(WhereDistDLFails, PaddingAboveHalfTheWindow) {  // accepted there, where PyTorch refuses; asymmetric: not offered
  EXPECT_EQ(check_balanced("max:f32:1x1x9:k2s1p4:axes2", {1, 1, 3}), "");
  EXPECT_EQ(check_balanced("max:f32:1x1x9:k3s2p0+2:axes2", {1, 1, 3}), "");
}

TEST(WhereDistDLFails, Integers) {
  EXPECT_EQ(check_balanced("max:i8:1x1x30:k3s2p1:axes2", {1, 1, 4}), "");
  EXPECT_EQ(check_balanced("max:i64:1x1x30:k3s1p1:axes2", {1, 1, 4}), "");
}

TEST(WhereDistDLFails, AdaptiveAndGlobalWindows) {
  EXPECT_EQ(check_balanced("avg:f32:1x1x17x19:out5x7", {1, 1, 3, 4}), "");
  EXPECT_EQ(check_balanced("max:f32:1x2x17x19:global:axes2,3", {1, 1, 3, 4}), "");
}

// <A x, z> = <x, A* z> for a sum, and <max x, z> = <x, its gradient of z>, without rounding: small whole numbers in
// f64.
TEST(DistributedCases, GradientsAreAdjoint) {
  for (const char* problem_name : {"sum:f64:2x3x11x10:k3x4s2x1p1:ceil", "max:f64:2x3x11x10:k3x3s2p1",
                                   // of DistDL's tests/primitives/test_halo_exchange.py
                                   "sum:f64:1x1x10x7:k3x3s1", "max:f64:1x1x10x7:k3x3s1", "sum:f64:1x1x10:k2s2:axes2",
                                   "max:f64:1x1x10:k2s2:axes2"}) {
    std::mt19937_64 random(5);
    const Problem problem = parse_problem(problem_name);
    const Whole whole(problem, Data::integers, random);
    const Partition inputs = random_partition(random, problem.shape, 6);
    const Partition outputs = random_partition(random, problem.output_shape, 6);
    const InProcess group(6, 5);
    std::vector<DistributedPool> pools;
    struct Part {
      Bytes x, y, places, dy, dx;
    };
    std::vector<Part> parts;
    std::vector<Operands> operands;
    for (index_t r = 0; r < 6; ++r) {
      const distributed::Box in = inputs.part(r), out = outputs.part(r);
      pools.emplace_back(LocalPool(problem, inputs, outputs, r), group.transport(r));
      parts.push_back({part_of(whole.x, Dtype::f64, problem.shape, in), room(Dtype::f64, out.shape()),
                       room(Dtype::i64, out.shape()), part_of(whole.dy, Dtype::f64, problem.output_shape, out),
                       room(Dtype::f64, in.shape())});
      Operands o;
      o.x = ConstTensor(parts.back().x.data(), Dtype::f64, in.shape());
      o.y = Tensor(parts.back().y.data(), Dtype::f64, out.shape());
      if (whole.picks()) o.indices = Tensor(parts.back().places.data(), Dtype::i64, out.shape());
      o.space = IndexSpace::window;
      o.dy = ConstTensor(parts.back().dy.data(), Dtype::f64, out.shape());
      o.dx = Tensor(parts.back().dx.data(), Dtype::f64, in.shape());
      operands.push_back(o);
    }
    double forward_product = 0, backward_product = 0;
    for (const Pass pass : {Pass::forward, pools[0].local().gradient()}) {
      for (std::size_t r = 0; r < 6; ++r) pools[r].start(pass, operands[r], {.threads = 1});
      for (std::size_t r = 0; r < 6; ++r) pools[r].finish(pass);
    }
    const auto add = [](double& sum, const Bytes& a, const Bytes& b) {
      for (std::size_t i = 0; i < a.size() / 8; ++i) {
        sum += reference::element(Dtype::f64, a.data(), static_cast<index_t>(i)) *
               reference::element(Dtype::f64, b.data(), static_cast<index_t>(i));
      }
    };
    for (const Part& p : parts) {
      add(forward_product, p.y, p.dy);
      add(backward_product, p.x, p.dx);
    }
    EXPECT_EQ(forward_product, backward_product) << problem_name;
    EXPECT_NE(forward_product, 0) << problem_name;
  }
}

using test::message;

TEST(DistributedErrors, OperandsThatDoNotFit) {
  const Problem problem = parse_problem("max:f32:10:k3s2p1:axes0");
  const Partition inputs({Cuts({0, 6, 10})}), outputs({Cuts({0, 3, 5})});
  const LocalPool pool(problem, inputs, outputs, 0);
  std::vector<float> x(6), y(3), dx(6);
  std::vector<std::int64_t> places(3);
  Operands good;
  good.x = ConstTensor(x.data(), {6});
  good.y = Tensor(y.data(), {3});
  good.indices = Tensor(places.data(), Dtype::i64, {3});
  EXPECT_EQ(message([&] { pool.check(Pass::forward, good); }), "(no error)");
  const auto with = [&](auto&& change, Pass pass = Pass::forward) {
    Operands o = good;
    change(o);
    return message([&] { pool.check(pass, o); });
  };
  EXPECT_EQ(with([&](Operands& o) { o.x = ConstTensor(x.data(), {5}); }),
            "distributed max_pool forward: x must have the shape of rank 0's part, 6, but has 5");
  EXPECT_EQ(with([&](Operands& o) { o.y.dtype = Dtype::f64; }),
            "distributed max_pool forward: y must have dtype f32, but has f64");
  EXPECT_EQ(with([&](Operands& o) { o.x.device = Device::cuda; }),
            "distributed max_pool forward: x must be on the CPU, but is on a CUDA device");
  EXPECT_EQ(with([&](Operands& o) { o.x.data = nullptr; }),
            "distributed max_pool forward: x must point to its 6 elements, but its data is null");
  EXPECT_EQ(with([&](Operands& o) { o.x.pitch = {}; }),
            "distributed max_pool forward: x must have one pitch per axis, but has 0 for 1 axes");
  EXPECT_EQ(with([&](Operands& o) { o.y.pitch = {0}; }),
            "distributed max_pool forward: y is written, so its elements must not share memory, but its pitches 0 make "
            "them");
  EXPECT_EQ(with([&](Operands& o) { o.y.data = x.data(); }),
            "distributed max_pool forward: x and y must not share memory, but they overlap");
  EXPECT_EQ(with([](Operands&) {}, Pass::backward),
            "distributed max_pool backward: a pool of max with dtype f32 must use another pass, but this one is asked "
            "for");
  const auto gradient = [&](Operands& o) {
    o.dy = ConstTensor(y.data(), {3});
    o.dx = Tensor(dx.data(), {6});
  };
  EXPECT_EQ(with(gradient, Pass::backward_indices),
            "distributed max_pool backward_indices: indices must count taps of the window, but count those of another "
            "space");
  EXPECT_EQ(message([&] { LocalPool(problem, inputs, outputs, 2); }), "halo plan: the rank must be 0 to 1, but is 2");
}

TEST(DistributedErrors, RanksThatDoNotCome) {
  const Problem problem = parse_problem("max:f32:10:k3s2p1:axes0");
  const Partition inputs({Cuts({0, 6, 10})}), outputs({Cuts({0, 3, 5})});
  EXPECT_EQ(message([] { InProcess(0); }), "in-process ranks: their number must be >= 1, but is 0");
  const InProcess group(2, 0.05);
  EXPECT_EQ(message([&] { group.transport(2); }), "in-process ranks: the rank must be 0 to 1, but is 2");
  EXPECT_EQ(message([&] { DistributedPool(LocalPool(problem, inputs, outputs, 0), group.transport(1)); }),
            "distributed pool: the transport of rank 1 of 2 must serve that rank, but serves 0 of 2");
  std::vector<float> x(4), y(2);
  DistributedPool second(LocalPool(problem, inputs, outputs, 1), group.transport(1));
  EXPECT_EQ(message([&] { second.forward({.x = ConstTensor(x.data(), {4}), .y = Tensor(y.data(), {2})}); }),
            "distributed pool: rank 0 must send its message within 0.05 s, but has not");
  EXPECT_EQ(message([&] { second.forward({.x = ConstTensor(x.data(), {4}), .y = Tensor(y.data(), {2})}); }),
            "distributed pool: the forward pass has failed before and must not be used");
}

TEST(DistributedErrors, IndicesOfAnotherShape) {
  const Problem problem = parse_problem("max:f32:10:k3s2p1:axes0");
  const distributed::HaloPlan plan(problem, Partition({Cuts({0, 10})}), Partition({Cuts({0, 5})}));
  std::vector<std::int64_t> places = {1, 0, 2, -1, 0};
  EXPECT_EQ(message([&] {
              globalise(plan, {{0}, {4}}, Tensor(places.data(), Dtype::i64, {5}), IndexSpace::plane);
            }),
            "globalise: indices must be an i64 tensor of shape 4, but are i64 of shape 5");
  globalise(plan, {{0}, {5}}, Tensor(places.data(), Dtype::i64, {5}), IndexSpace::plane);
  EXPECT_EQ(places, (std::vector<std::int64_t>{0, 1, 5, -1, 7}));
}

}  // namespace
}  // namespace oriel::test
