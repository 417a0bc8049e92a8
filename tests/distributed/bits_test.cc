// Every partition gives the bits of the undivided call: values, places, gradients.
#include <gtest/gtest.h>

#include <thread>

#include "distributed/in_turns.h"
#include "pool/random_problem.h"
#include "seeds.h"

namespace oriel::test {
namespace {

using distributed::Cuts;
using distributed::InProcess;
using distributed::LocalPool;
using distributed::Partition;
using distributed::Pass;

void check_all_partitions(const Problem& problem, index_t parts, std::mt19937_64& random) {
  const Whole whole(problem, kAllData[random() % 4], random);
  for (const Cuts& in : all_cuts(problem.shape[0], parts)) {
    for (const Cuts& out : all_cuts(problem.output_shape[0], parts)) {
      const std::string wrong = check_in_turns(whole, Partition({in}), Partition({out}), false);
      ASSERT_EQ(wrong, "");
    }
    ASSERT_EQ(check_in_turns(whole, Partition({in}), Partition({centred_outputs(problem.axis[0], in)}), true), "");
  }
}

// The kinds of pools whose passes differ.
std::vector<Pool> kinds() {
  return {{.op = Op::max},
          {.op = Op::avg},
          {.op = Op::avg, .count_include_pad = false},
          {.op = Op::sum},
          {.op = Op::avg, .nan = NanPolicy::omit},
          {.op = Op::lp},
          {.op = Op::min, .nan = NanPolicy::omit}};
}

TEST(DistributedBits, EveryPartitionOfSmallUniformPools) {
  std::mt19937_64 random(seeds()[1]);
  const std::vector<Pool> all = kinds();
  std::size_t turn = random();
  for (index_t n : {1, 2, 3, 4, 5}) {
    for (index_t k : {1, 2, 3, 5}) {
      for (index_t s : {1, 2, 4}) {
        for (const auto& [low, high] : {std::pair<index_t, index_t>{0, 0}, {1, 1}, {3, 1}}) {
          Pool pool = all[turn++ % all.size()];
          pool.windows.kernel = {k};
          pool.windows.stride = {s};
          pool.windows.pad_lo = {low};
          pool.windows.pad_hi = {high};
          pool.windows.dilation = {turn % 3 == 0 ? 2 : 1};
          pool.windows.ceil_mode = turn % 2 == 0;
          pool.windows.axes = {0};
          if (n + low + high < pool.windows.dilation[0] * (k - 1) + 1) continue;
          const Dtype dtype = turn % 5 == 0 && pool.op == Op::max ? Dtype::i8
                              : turn % 4 == 0                     ? Dtype::bf16
                                                                  : Dtype::f32;
          check_all_partitions(make_problem(pool, dtype, {n}), n <= 2 ? 4 : 3, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(DistributedBits, EveryPartitionOfSmallAdaptivePools) {
  std::mt19937_64 random(seeds()[1]);
  for (const Pool& kind : kinds()) {
    for (const auto& [n, m] : {std::pair<index_t, index_t>{5, 3}, {3, 5}, {6, 3}, {5, 1}}) {
      Pool pool = kind;
      pool.windows.kind = WindowKind::adaptive;
      pool.windows.output_size = {m};
      pool.windows.axes = {0};
      check_all_partitions(make_problem(pool, Dtype::f32, {n}), 3, random);
      if (HasFatalFailure()) return;
    }
  }
}

// Any op, dtype, window, number of axes; batch and channels divided too; outputs divided unlike inputs.
TEST(DistributedBits, RandomPartitionsOfRandomProblems) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1500; ++i) {
      const Problem problem = random_problem(random, i % 20 == 0 ? 3000 : 300);
      const Whole whole(problem, kAllData[random() % 4], random);
      const index_t ranks = std::array<index_t, 8>{1, 2, 3, 4, 5, 7, 8, 12}[random() % 8];
      const Partition inputs = random_partition(random, problem.shape, ranks);
      const Partition outputs =
          random() % 2 == 0 ? centred_outputs(problem, inputs) : random_partition(random, problem.output_shape, ranks);
      ASSERT_EQ(check_in_turns(whole, inputs, outputs, random() % 2 == 0), "") << "seed " << seed << " case " << i;
    }
  }
}

// Interiors large enough to be computed in bands while messages travel.
TEST(DistributedBits, LargerTensors) {
  std::mt19937_64 random(seeds()[1]);
  for (const char* name : {"max:f32:2x3x300x200:k3x3s2p1", "avg:f32:2x3x300x200:k5x5s2p2:ceil:exclude",
                           "max:f32:1x1x40x90x80:k3x3x3s1p1", "lp2:f64:1x2x200x150:k2x2s2", "max:u8:1x1x900x900:k7x7s3",
                           "max:f32:1x200x150x8:k3s2p1:axes1,2", "sum:f16:1x1x600x600:k9x9s1p4"}) {
    const Problem problem = parse_problem(name);
    const Whole whole(problem, Data::spread, random);
    for (index_t ranks : {2, 3, 4}) {
      const Partition inputs = random_partition(random, problem.shape, ranks);
      ASSERT_EQ(check_in_turns(whole, inputs, centred_outputs(problem, inputs), false), "");
    }
  }
}

// A thread for each rank.
TEST(DistributedBits, RanksOnThreads) {
  for (unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 12; ++i) {
      const Problem problem = random_problem(random, 500);
      const Whole whole(problem, kAllData[random() % 4], random);
      const index_t ranks = pick(random, 2, 5);
      const Partition inputs = random_partition(random, problem.shape, ranks);
      const Partition outputs = random_partition(random, problem.output_shape, ranks);
      const InProcess group(ranks, 20);
      std::vector<std::string> wrong(static_cast<std::size_t>(ranks));
      std::vector<std::thread> threads;
      for (index_t r = 0; r < ranks; ++r) {
        threads.emplace_back([&, r] {
          std::string& mine = wrong[static_cast<std::size_t>(r)];
          try {
            distributed::DistributedPool pool(LocalPool(problem, inputs, outputs, r), group.transport(r),
                                              passes_of(whole));
            RankParts parts(whole, pool.local(), false);
            for (int repeat = 0; repeat < 3 && mine.empty(); ++repeat) {
              mine = check_passes(whole, parts, [&](Pass pass, const distributed::Operands& operands) {
                pool.run(pass, operands, {.threads = 1});
              });
            }
          } catch (const Error& e) {
            mine = e.what();
          }
        });
      }
      for (std::thread& t : threads) t.join();
      std::string all;
      for (const std::string& w : wrong) all += w.empty() ? "" : w + "; ";
      ASSERT_EQ(all, "") << to_string(problem) << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace oriel::test
