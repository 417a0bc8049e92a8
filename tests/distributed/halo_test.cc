// Who sends what to whom, by exhaustion over small partitions and by worked examples.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <set>
#include <string>

#include "distributed/partitions.h"
#include "support.h"

namespace oriel::distributed {
namespace {

using test::all_cuts;
using test::text;

Range range(const Box& box) { return box.along(0); }

struct Line {  // a pool along one axis, and which inputs its outputs read, spelled out
  Problem problem;
  std::vector<std::vector<index_t>> reads;

  explicit Line(const Problem& p) : problem(p) {
    const Axis& axis = p.axis[0];
    for (index_t o = 0; o < axis.out; ++o) {
      reads.emplace_back();
      const Range taps = axis.taps(o);
      for (index_t t = taps.begin; t < taps.end; ++t) reads.back().push_back(axis.at(o, t));
    }
  }
  bool read(index_t o, index_t i) const {
    for (index_t r : reads[static_cast<std::size_t>(o)]) {
      if (r == i) return true;
    }
    return false;
  }
};

// What must hold of one rank. `links(made, travels)`: whether a made element needs a travelling one.
template <class Links>
bool check_rank(const Cuts& owners, const std::vector<Exchange>& all, std::size_t rank, const Links& links) {
  const Exchange& e = all[rank];
  const Range needed = range(e.needed), made = range(e.made), inside = range(e.interior);
  std::vector<int> seen(static_cast<std::size_t>(owners.extent()), 0);
  const auto take = [&](Range r) {
    for (index_t i = r.begin; i < r.end; ++i) ++seen[static_cast<std::size_t>(i)];
  };
  take(range(e.kept));
  for (const Piece& piece : e.receive) {
    take(range(piece.box));
    const Range owner = owners.part(piece.rank);
    if (piece.rank == static_cast<index_t>(rank) || piece.box.empty()) return false;
    if (intersect(range(piece.box), owner) != range(piece.box)) return false;
    const auto& sent = all[static_cast<std::size_t>(piece.rank)].send;
    if (std::count(sent.begin(), sent.end(), Piece{static_cast<index_t>(rank), piece.box}) != 1) return false;
  }
  for (const Piece& piece : e.send) {
    const auto& received = all[static_cast<std::size_t>(piece.rank)].receive;
    if (std::count(received.begin(), received.end(), Piece{static_cast<index_t>(rank), piece.box}) != 1) return false;
  }
  for (index_t i = 0; i < owners.extent(); ++i) {
    const int times = seen[static_cast<std::size_t>(i)];
    if (times > (needed.contains(i) ? 1 : 0)) return false;
    for (index_t m = made.begin; m < made.end; ++m) {
      if (!links(m, i)) continue;
      if (times != 1) return false;
      if (inside.contains(m) && !range(e.owned).contains(i)) return false;
    }
  }
  return intersect(inside, made) == inside || inside.empty();
}

bool check_line(const Line& line, const Cuts& inputs, const Cuts& outputs) {
  const HaloPlan plan(line.problem, Partition({inputs}), Partition({outputs}));
  std::vector<Exchange> forward, backward;
  for (index_t r = 0; r < plan.ranks(); ++r) {
    forward.push_back(plan.forward(r));
    backward.push_back(plan.backward(r));
  }
  for (std::size_t r = 0; r < forward.size(); ++r) {
    if (!check_rank(inputs, forward, r, [&](index_t o, index_t i) { return line.read(o, i); })) return false;
    if (!check_rank(outputs, backward, r, [&](index_t i, index_t o) { return line.read(o, i); })) return false;
  }
  return true;
}

void check_all_partitions(const Problem& problem, index_t parts) {
  const Line line(problem);
  for (const Cuts& inputs : all_cuts(problem.shape[0], parts)) {
    for (const Cuts& outputs : all_cuts(problem.output_shape[0], parts)) {
      ASSERT_TRUE(check_line(line, inputs, outputs))
          << to_string(problem) << " inputs " << text(inputs) << " outputs " << text(outputs);
    }
    ASSERT_TRUE(check_line(line, inputs, centred_outputs(problem.axis[0], inputs))) << to_string(problem);
  }
}

TEST(HaloPlan, EveryPartitionOfSmallUniformPools) {
  for (index_t n = 1; n <= 6; ++n) {
    for (index_t k = 1; k <= 4; ++k) {
      for (index_t s = 1; s <= 3; ++s) {
        for (index_t d = 1; d <= 2; ++d) {
          for (const auto& [low, high] : {std::pair<index_t, index_t>{0, 0}, {1, 1}, {2, 0}, {0, 3}}) {
            for (const bool ceil : {false, true}) {
              const Pool pool{.windows = {.kernel = {k},
                                          .stride = {s},
                                          .pad_lo = {low},
                                          .pad_hi = {high},
                                          .dilation = {d},
                                          .axes = {0},
                                          .ceil_mode = ceil}};
              if (n + low + high < d * (k - 1) + 1) continue;
              check_all_partitions(make_problem(pool, Dtype::f32, {n}), n <= 3 ? 4 : 3);
            }
          }
        }
      }
    }
  }
}

TEST(HaloPlan, EveryPartitionOfSmallAdaptivePools) {
  for (index_t n = 1; n <= 6; ++n) {
    for (index_t m = 1; m <= 5; ++m) {
      const Pool pool{.windows = {.kind = WindowKind::adaptive, .output_size = {m}, .axes = {0}}};
      check_all_partitions(make_problem(pool, Dtype::f32, {n}), 3);
    }
  }
}

// 10 inputs over four ranks, the third of them empty; windows of 3 step by 2, padding 1.
TEST(HaloPlan, AHaloReachesOverAnEmptyRank) {
  const Problem problem = parse_problem("max:f32:10:k3s2p1:axes0");
  const Partition inputs({Cuts({0, 5, 6, 6, 10})});
  const Partition outputs = centred_outputs(problem, inputs);
  EXPECT_EQ(outputs.along(0), Cuts({0, 3, 3, 3, 5}));
  const HaloPlan plan(problem, inputs, outputs);
  const auto box = [](index_t begin, index_t end) { return Box{{begin}, {end}}; };
  const Exchange first = plan.forward(0), second = plan.forward(1), third = plan.forward(2), last = plan.forward(3);
  EXPECT_EQ(first.needed, box(0, 6));
  EXPECT_EQ(first.interior, box(0, 2));
  EXPECT_EQ(first.receive, (std::vector<Piece>{{1, box(5, 6)}}));
  EXPECT_EQ(last.needed, box(5, 10));
  EXPECT_EQ(last.interior, box(4, 5));
  EXPECT_EQ(last.receive, (std::vector<Piece>{{1, box(5, 6)}}));
  EXPECT_EQ(second.send, (std::vector<Piece>{{0, box(5, 6)}, {3, box(5, 6)}}));
  EXPECT_TRUE(third.needed.empty() && third.receive.empty() && third.send.empty());
  EXPECT_EQ(plan.backward(0).needed, box(0, 3));
  EXPECT_EQ(plan.backward(1).receive, (std::vector<Piece>{{0, box(2, 3)}, {3, box(3, 4)}}));
  EXPECT_EQ(plan.backward(3).needed, box(3, 5));
}

std::mt19937_64& random() {
  static std::mt19937_64 generator(20260917);
  return generator;
}

index_t pick(index_t low, index_t high) { return std::uniform_int_distribution<index_t>(low, high)(random()); }

Cuts random_cuts(index_t n, index_t parts) {
  std::vector<index_t> bounds = {0, n};
  for (index_t p = 1; p < parts; ++p) bounds.push_back(pick(0, n));
  std::sort(bounds.begin(), bounds.end());
  return Cuts(bounds);
}

// Pieces are disjoint parts of what their owners have, fill what is needed where windows leave no gaps (`dense`), and
// are sent by those who have them.
void check_boxes(const std::vector<Exchange>& all, const Partition& travels, bool dense) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Exchange& e = all[r];
    index_t elements = e.kept.element_count();
    index_t before = -1;
    for (const Piece& piece : e.receive) {
      EXPECT_LT(before, piece.rank) << "ascending";
      before = piece.rank;
      elements += piece.box.element_count();
      EXPECT_EQ(intersect(piece.box, travels.part(piece.rank)), piece.box);
      EXPECT_EQ(intersect(piece.box, e.needed), piece.box);
      const auto& sent = all[static_cast<std::size_t>(piece.rank)].send;
      EXPECT_EQ(std::count(sent.begin(), sent.end(), Piece{static_cast<index_t>(r), piece.box}), 1);
    }
    EXPECT_LE(elements, e.needed.element_count());
    if (dense) {
      EXPECT_EQ(elements, e.needed.element_count());
    }
    for (const Piece& piece : e.send) {
      const auto& received = all[static_cast<std::size_t>(piece.rank)].receive;
      EXPECT_EQ(std::count(received.begin(), received.end(), Piece{static_cast<index_t>(r), piece.box}), 1);
    }
  }
}

TEST(HaloPlan, RandomPartitionsOfSeveralAxes) {
  for (int repeat = 0; repeat < 300; ++repeat) {
    const int rank = static_cast<int>(pick(1, 4)), pooled = static_cast<int>(pick(1, rank));
    Extents shape, grid;
    for (int a = 0; a < rank; ++a) {
      shape.push_back(pick(1, 9));
      grid.push_back(pick(1, 3));
    }
    Pool pool;
    for (int a = 0; a < pooled; ++a) {
      pool.windows.axes.push_back(rank - pooled + a);
      pool.windows.kernel.push_back(pick(1, shape[rank - pooled + a]));
      pool.windows.stride.push_back(pick(1, 3));
      pool.windows.pad_lo.push_back(pick(0, 2));
      pool.windows.pad_hi.push_back(pick(0, 2));
    }
    const Problem problem = make_problem(pool, Dtype::f32, shape);
    std::vector<Cuts> in, out;
    for (int a = 0; a < rank; ++a) {
      in.push_back(random_cuts(shape[a], grid[a]));
      out.push_back(random_cuts(problem.output_shape[a], grid[rank - 1 - a]));  // another grid of as many ranks
    }
    const HaloPlan plan(problem, Partition(in), Partition(out));
    std::vector<Exchange> forward, backward;
    for (index_t r = 0; r < plan.ranks(); ++r) {
      forward.push_back(plan.forward(r));
      backward.push_back(plan.backward(r));
    }
    bool dense = true;
    for (int a = 0; a < pooled; ++a) dense &= pool.windows.stride[a] <= pool.windows.kernel[a];
    check_boxes(forward, plan.inputs(), dense);
    check_boxes(backward, plan.outputs(), true);
    if (testing::Test::HasFailure()) FAIL() << to_string(problem);
  }
}

// A million ranks: a rank's part costs what its own few messages cost.
TEST(HaloPlan, AMillionRanks) {
  const Problem problem = parse_problem("max:f32:1x1x3200x3200x3200:k3x3x3s2p1");
  const Partition inputs = Partition::balanced(problem.shape, {1, 1, 100, 100, 100});
  const HaloPlan plan(problem, inputs, centred_outputs(problem, inputs));
  EXPECT_EQ(plan.ranks(), 1000000);
  std::set<std::size_t> messages;
  for (index_t r = 0; r < plan.ranks(); r += 997) messages.insert(plan.forward(r).receive.size());
  EXPECT_EQ(messages, (std::set<std::size_t>{0, 3, 7})) << "one-sided: 7 neighbours inside, 3 or none at these faces";
  const Exchange inside = plan.forward(505050);
  EXPECT_EQ(inside.needed.shape(), (Extents{1, 1, 33, 33, 33}));
  EXPECT_EQ(inside.interior.shape(), (Extents{1, 1, 15, 15, 15}));
}

// The same in one dimension, where the list of cuts itself is long; the time for a rank must not grow with it.
TEST(HaloPlan, AMillionRanksInARow) {
  const auto seconds_for = [](index_t ranks) {
    const Problem problem = parse_problem("avg:f32:1x1x" + std::to_string(16 * ranks) + ":k5s2p2:axes2");
    const Partition inputs = Partition::balanced(problem.shape, {1, 1, ranks});
    const HaloPlan plan(problem, inputs, centred_outputs(problem, inputs));
    double best = 1e9;
    for (int attempt = 0; attempt < 5; ++attempt) {
      const auto begin = std::chrono::steady_clock::now();
      for (index_t r = 0; r < 1000; ++r) {
        const index_t rank = r * (ranks / 1000);
        const std::size_t inside = rank > 0 && rank < ranks - 1 ? 2 : 1;
        EXPECT_EQ(plan.forward(rank).receive.size(), inside);
        EXPECT_LE(plan.backward(rank).receive.size(), inside);
      }
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
  };
  const double few = seconds_for(1000), many = seconds_for(1000000);
  EXPECT_LT(many, 8 * few)
      << "a thousand times as many ranks: twice as many steps of a binary search, and cache misses";
}

TEST(HaloPlan, BoxesAround) {
  const Box all = {{0, 0}, {4, 5}};
  EXPECT_EQ(around(all, {{1, 2}, {3, 5}}), (std::vector<Box>{{{0, 0}, {1, 5}}, {{3, 0}, {4, 5}}, {{1, 0}, {3, 2}}}));
  EXPECT_EQ(around(all, {{1, 1}, {1, 4}}), std::vector<Box>{all});
  EXPECT_TRUE(around(all, all).empty());
}

// Inputs that share a window: what travels for gradients that need them.
TEST(HaloPlan, InputsThatShareAWindow) {
  const Problem problem = parse_problem("lp2:f32:10:k3s2p1:axes0");  // windows -1..1 1..3 3..5 5..7 7..9
  const Partition inputs({Cuts({0, 4, 10})});
  const HaloPlan plan(problem, inputs, centred_outputs(problem, inputs));
  const Exchange first = plan.backward_inputs(0), second = plan.backward_inputs(1);
  EXPECT_EQ(first.needed, (Box{{0}, {6}}));
  EXPECT_EQ(first.receive, (std::vector<Piece>{{1, {{4}, {6}}}}));
  EXPECT_EQ(second.needed, (Box{{3}, {10}}));
  EXPECT_EQ(second.send, first.receive.size() == 1 ? (std::vector<Piece>{{0, {{4}, {6}}}}) : std::vector<Piece>{});
  EXPECT_EQ(second.receive, (std::vector<Piece>{{0, {{3}, {4}}}}));
  EXPECT_EQ(plan.fed_by({{0}, {4}}, {{0}, {2}}), (Box{{0}, {3}}));
  EXPECT_EQ(plan.part({{1}, {3}}).shape, (Extents{5}));
}

TEST(HaloPlan, RefusesWhatDoesNotFit) {
  const Problem problem = parse_problem("max:f32:10:k3s2p1:axes0");
  using test::message;
  const Partition ten({Cuts({0, 5, 10})}), five({Cuts({0, 2, 5})}), three({Cuts({0, 2, 3, 5})});
  EXPECT_EQ(message([&] { HaloPlan(problem, five, five); }),
            "halo plan: the partition of the input must cover shape 10, but covers 5");
  EXPECT_EQ(message([&] { HaloPlan(problem, ten, ten); }),
            "halo plan: the partition of the output must cover shape 5, but covers 10");
  EXPECT_EQ(message([&] { HaloPlan(problem, ten, three); }),
            "halo plan: inputs and outputs must be divided among as many ranks, but there are 2 and 3");
  EXPECT_EQ(message([&] { HaloPlan(problem, ten, five).forward(2); }), "halo plan: the rank must be 0 to 1, but is 2");
  EXPECT_EQ(message([] { Cuts({0}); }), "cuts: at least 2 bounds are needed, but there are 1");
  EXPECT_EQ(message([] { Cuts({1, 2}); }), "cuts: the first bound must be 0, but is 1");
  EXPECT_EQ(message([] { Cuts({0, 4, 3}); }), "cuts: bounds must ascend, but 3 follows 4");
  EXPECT_EQ(message([] { Cuts::balanced(4, 0); }), "cuts: the number of parts must be >= 1, but is 0");
  EXPECT_EQ(message([] {
              Partition::balanced({4, 4}, {2});
            }),
            "partition: the grid must have one number of parts per axis, 2, but has 1");
}

}  // namespace
}  // namespace oriel::distributed
