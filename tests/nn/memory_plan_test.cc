#include "nn/network/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "nn/network/network.h"

namespace oriel::nn {
namespace {

void expect_sound(const std::vector<Lifetime>& tensors, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + tensors[i].bytes, plan.bytes);
    if (const int before = tensors[i].after; before >= 0) {
      const auto at = static_cast<std::size_t>(before);
      EXPECT_EQ(plan.offsets[i], plan.offsets[at] + tensors[at].bytes);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const bool meet = tensors[i].first <= tensors[j].last && tensors[j].first <= tensors[i].last;
      const bool share =
          plan.offsets[i] < plan.offsets[j] + tensors[j].bytes && plan.offsets[j] < plan.offsets[i] + tensors[i].bytes;
      EXPECT_FALSE(meet && share) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.bytes, plan.lower_bound);
}

TEST(MemoryPlan, SmallCases) {
  EXPECT_EQ(plan_memory({}).lower_bound, 0);
  const std::vector<Lifetime> chain{{100, 0, 1, -1}, {64, 1, 2, -1}, {128, 2, 3, -1}};
  const MemoryPlan plan = plan_memory(chain);
  expect_sound(chain, plan);
  EXPECT_EQ(plan.lower_bound, 192);
  EXPECT_EQ(plan.bytes, 192);
}

TEST(MemoryPlan, JoinedTensorsLieSideBySide) {
  // The second part is written first; meanwhile another tensor may use the first part's place.
  const std::vector<Lifetime> tensors{{640, 3, 4, -1}, {640, 0, 4, 0}, {640, 1, 2, -1}};
  const MemoryPlan plan = plan_memory(tensors);
  expect_sound(tensors, plan);
  EXPECT_EQ(plan.bytes, 1280);
}

TEST(MemoryPlan, RandomTensors) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> tensors(1 + random() % 20);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const int first = static_cast<int>(random() % 12);
      tensors[i] = {64 * (1 + static_cast<index_t>(random() % 50)), first, first + static_cast<int>(random() % 6), -1};
      if (i % 3 == 2) tensors[i].after = static_cast<int>(i) - 1;
    }
    const MemoryPlan plan = plan_memory(tensors);
    expect_sound(tensors, plan);
    EXPECT_EQ(plan.offsets, plan_memory(tensors).offsets);
  }
}

UNetDescription source_like(int levels, index_t width) {
  UNetDescription d;
  for (int l = 0; l < levels; ++l) d.widths.push_back(width << l);
  d.key_names = "source";
  return d;
}

// Every depth and size: no skip is copied, and the block is within a tenth of what lives at once.
TEST(MemoryPlan, UNetsAreWithinATenthOfTheBound) {
  for (int levels : {2, 3, 4, 5, 6})
    for (index_t width : {16, 32, 64})
      for (const auto& [h, w] :
           {std::pair<index_t, index_t>{64, 64}, {256, 256}, {320, 512}, {512, 512}, {1024, 768}}) {
        const UNetDescription d = source_like(levels, width);
        const Network net = make_network(d, {h, w, 16, Dtype::f32, false, true});
        std::vector<Lifetime> tensors = net.lifetimes();
        for (std::size_t s = 0; s < net.steps.size(); ++s)  // the rows of taps of transposed convolutions
          if (net.steps[s].kind == StepKind::up)
            tensors.push_back({net.tensors[static_cast<std::size_t>(net.steps[s].output)].bytes / 2,
                               static_cast<int>(s), static_cast<int>(s), -1});
        const MemoryPlan plan = plan_memory(tensors);
        expect_sound(tensors, plan);
        EXPECT_LE(static_cast<double>(plan.bytes), 1.1 * static_cast<double>(plan.lower_bound))
            << levels << " levels of " << width << " at " << h << "x" << w;
      }
}

// On CUDA devices convolutions make the maxima, so that those live with both their input and their output.
TEST(MemoryPlan, UNetsOnDevicesAreWithinATenthOfTheBound) {
  for (int levels : {2, 3, 4, 5, 6})
    for (index_t width : {5, 16, 64})
      for (const auto& [h, w] : {std::pair<index_t, index_t>{32, 64}, {256, 256}, {320, 512}, {512, 512}}) {
        NetworkForm form;
        form.height = h;
        form.width = w;
        form.block = 1;
        form.fused_pools = true;
        form.plane_multiple = 16;
        const Network net = make_network(source_like(levels, width), form);
        for (const NetworkStep& step : net.steps) EXPECT_NE(step.kind, StepKind::pool);
        const MemoryPlan plan = plan_memory(net.lifetimes());
        expect_sound(net.lifetimes(), plan);
        EXPECT_LE(static_cast<double>(plan.bytes), 1.1 * static_cast<double>(plan.lower_bound))
            << levels << " levels of " << width << " at " << h << "x" << w;
        if (levels == 5 && width == 64 && w == 512 && h == 512) {
          EXPECT_EQ(plan.lower_bound, index_t{192} << 20);
        }
      }
}

// 192 MiB: at up_4's first convolution live 64 channels of skip, 64 up-sampled ones, and 64 of its result.
TEST(MemoryPlan, TheSourcesNetworkNeeds192MiB) {
  const Network net = make_network(source_like(5, 64), {512, 512, 16, Dtype::f32, false, true});
  const MemoryPlan plan = plan_memory(net.lifetimes());
  EXPECT_EQ(plan.lower_bound, index_t{192} << 20);
  EXPECT_LE(plan.bytes, (index_t{192} << 20) * 11 / 10);
}

// Channels last, joined inputs are convolved one after the other: nothing needs a neighbour, each tensor is one block.
TEST(MemoryPlan, ChannelsLastNeedNoNeighbours) {
  const Network net = make_network(source_like(4, 16), {64, 64, 16, Dtype::bf16, true, true});
  for (const NetworkTensor& t : net.tensors) EXPECT_EQ(t.after, -1);
  EXPECT_FALSE(net.tensors.front().plain);
  int joined = 0;
  for (const NetworkStep& s : net.steps) joined += s.input_more >= 0 ? 1 : 0;
  EXPECT_EQ(joined, 3);
}

}  // namespace
}  // namespace oriel::nn
