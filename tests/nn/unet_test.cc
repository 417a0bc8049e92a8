#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "nn/naive_unet.h"
#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

#define SKIP_WITHOUT(arithmetic) \
  if (!supports(arithmetic)) GTEST_SKIP() << "this build or machine runs no networks in " << name(arithmetic)

std::vector<float> random_image(index_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(0, 1);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& v : out) v = values(random);
  return out;
}

// Greatest difference over greatest magnitude.
double relative(std::span<const float> own, const std::vector<double>& wanted) {
  double apart = 0, largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = std::fabs(own[i] - wanted[i]);
    apart = d <= apart ? apart : d;
    largest = std::max(largest, std::fabs(wanted[i]));
  }
  return apart / largest;
}

// Runs `net` beside the definition; every block, and the result, within `most`.
void expect_close(const NaiveUNet& net, index_t height, index_t width, const UNetOptions& options, double most) {
  const Weights weights = net.weights();
  const std::vector<float> image = random_image(net.input_channels * height * width, 5);
  const auto wanted = net.run(weights, image, height, width);
  UNet engine(weights, options);
  engine.prepare(height, width);
  std::vector<float> logits(static_cast<std::size_t>(net.classes * height * width), -7);
  std::size_t at = 0;
  engine.run(image.data(), logits.data(),
             [&](const std::string& block, const Extents& shape, std::span<const float> values) {
               ASSERT_LT(at, wanted.size());
               EXPECT_EQ(block, wanted[at].name);
               EXPECT_EQ(shape, (Extents{wanted[at].channels, wanted[at].height, wanted[at].width}));
               EXPECT_LE(relative(values, wanted[at].values), most) << block;
               ++at;
             });
  EXPECT_EQ(at, wanted.size());
  EXPECT_LE(relative(logits, wanted.back().values), most);
  std::vector<float> again(logits.size());
  engine.run(image.data(), again.data());
  EXPECT_EQ(again, logits);  // the same bits, memory reused
}

TEST(UNet, MatchesTheDefinition) {
  SKIP_WITHOUT(Arithmetic::fp32);
  for (bool milesial : {false, true})
    for (bool trial : {false, true}) {
      expect_close({.widths = {16, 32}, .milesial = milesial, .bias = !milesial}, 16, 24,
                   {.threads = 2, .trial = trial}, 1e-5);
      expect_close({.widths = {16, 32, 64}, .milesial = milesial}, 32, 32, {.threads = 1, .trial = trial}, 1e-5);
    }
}

// Widths that fill no block of channels, other numbers of channels in and out, one pixel at the bottom.
TEST(UNet, MatchesTheDefinitionForOddChannels) {
  SKIP_WITHOUT(Arithmetic::fp32);
  for (bool milesial : {false, true}) {
    expect_close({.input_channels = 1, .classes = 2, .widths = {5, 7, 19}, .milesial = milesial}, 4, 4, {.threads = 2},
                 1e-5);
    expect_close({.input_channels = 4, .classes = 3, .widths = {8, 24, 12, 40}, .milesial = milesial}, 16, 8,
                 {.threads = 2}, 1e-5);
  }
  expect_close({.input_channels = 20, .widths = {3, 4}}, 2, 6, {}, 1e-5);
}

TEST(UNet, Bfloat16IsNear) {
  SKIP_WITHOUT(Arithmetic::bf16);
  expect_close({.widths = {16, 32, 64}}, 32, 48, {.threads = 2, .arithmetic = Arithmetic::bf16}, 0.03);
  expect_close({.widths = {8, 12}, .milesial = true}, 8, 8, {.threads = 2, .arithmetic = Arithmetic::bf16}, 0.03);
}

TEST(UNet, ChannelsLast) {
  SKIP_WITHOUT(Arithmetic::bf16);
  const UNetLayout layout = UNetLayout::channels_last;
  for (bool milesial : {false, true}) {
    expect_close({.widths = {16, 32, 64}, .milesial = milesial}, 32, 48, {.threads = 2, .layout = layout}, 1e-5);
    expect_close({.input_channels = 2, .classes = 2, .widths = {5, 40}, .milesial = milesial}, 8, 6,
                 {.threads = 2, .layout = layout}, 1e-5);
    expect_close({.widths = {16, 24, 32}, .milesial = milesial}, 16, 16,
                 {.threads = 2, .arithmetic = Arithmetic::bf16, .layout = layout}, 0.04);
  }
}

void expect_two_copies(const UNetOptions& options) {
  const NaiveUNet net{.widths = {16, 16, 16, 16, 16}};
  UNet engine(net.weights(), options);
  engine.prepare(16, 16);
  const std::vector<float> image = random_image(3 * 256, 1);
  std::vector<float> logits(256);
  for (int run = 0; run < 2; ++run) {
    engine.run(image.data(), logits.data());
    std::vector<std::string> blocks;
    index_t total = 0;
    for (const UNetCopies& row : engine.copies()) {
      blocks.push_back(row.block);
      total += row.copies;
      EXPECT_EQ(row.copies, row.block == "down_1" || row.block == "out" ? 1 : 0) << row.block;
    }
    EXPECT_EQ(blocks, (std::vector<std::string>{"down_1", "down_2", "down_3", "down_4", "down_5", "up_1", "up_2",
                                                "up_3", "up_4", "out"}));
    EXPECT_EQ(total, 2);
  }
  const UNetMemory memory = engine.memory();
  EXPECT_GE(memory.activations, memory.lower_bound);
  EXPECT_LE(static_cast<double>(memory.activations), 1.1 * static_cast<double>(memory.lower_bound));
}

TEST(UNet, CopiesOneInOneOut) {
  SKIP_WITHOUT(Arithmetic::fp32);
  expect_two_copies({.trial = false});
  expect_two_copies({.trial = false, .layout = UNetLayout::channels_last});
}

TEST(UNet, StepsAreTimed) {
  SKIP_WITHOUT(Arithmetic::fp32);
  const NaiveUNet net{.widths = {16, 32}};
  UNet engine(net.weights(), {.threads = 1});
  EXPECT_EQ(engine.library(), "");
  engine.prepare(32, 32);
  EXPECT_TRUE(engine.library().starts_with("oneDNN ")) << engine.library();
  const std::vector<float> image = random_image(3 * 1024, 9);
  std::vector<float> wanted(1024), logits(1024);
  engine.run(image.data(), wanted.data());
  const std::vector<double> milliseconds = engine.time_steps(image.data(), logits.data());
  EXPECT_EQ(logits, wanted);
  ASSERT_EQ(milliseconds.size(), engine.steps().size());
  for (double m : milliseconds) EXPECT_GT(m, 0);
  index_t copies = 0;
  for (const UNetCopies& row : engine.copies()) copies += row.copies;
  EXPECT_EQ(copies, 2);
}

TEST(UNet, EnginesRunSideBySide) {
  SKIP_WITHOUT(Arithmetic::fp32);
  const NaiveUNet net{.widths = {16, 32}};
  UNet first(net.weights(), {.threads = 1});
  first.prepare(32, 32);
  const std::vector<float> image = random_image(3 * 1024, 9);
  std::vector<float> wanted(1024);
  first.run(image.data(), wanted.data());
  std::vector<std::vector<float>> results(4, std::vector<float>(1024));
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&image, &result, engine = first.another()]() mutable {
      for (int run = 0; run < 3; ++run) engine.run(image.data(), result.data());
    });
  for (std::thread& t : threads) t.join();
  for (const auto& result : results) EXPECT_EQ(result, wanted);
}

TEST(UNet, AnotherSize) {
  SKIP_WITHOUT(Arithmetic::fp32);
  const NaiveUNet net{.widths = {16, 32}};
  UNet engine(net.weights());
  for (index_t side : {8, 32, 16, 16}) {
    engine.prepare(side, side);
    EXPECT_EQ(engine.height(), side);
    const std::vector<float> image = random_image(3 * side * side, 2);
    std::vector<float> logits(static_cast<std::size_t>(side * side));
    engine.run(image.data(), logits.data());
    EXPECT_LE(relative(logits, net.run(net.weights(), image, side, side).back().values), 1e-5);
  }
}

TEST(UNet, BadCalls) {
  SKIP_WITHOUT(Arithmetic::fp32);
  const Weights weights = NaiveUNet{.widths = {4, 4, 4}}.weights();
  UNet engine(weights);
  float value = 0;
  EXPECT_EQ(error_of([&] { engine.run(&value, &value); }), "unet: run before prepare(height, width)");
  EXPECT_EQ(error_of([&] { engine.time_steps(&value, &value); }), "unet: run before prepare(height, width)");
  for (index_t side : {0, -4, 6, 1 << 20})
    EXPECT_NE(error_of([&] { engine.prepare(side, 8); }).find("allowed for 3 levels: multiples of 4"),
              std::string::npos);
  EXPECT_NE(error_of([&] { engine.prepare(8, 7); }).find("unet: width 7;"), std::string::npos);
  EXPECT_EQ(error_of([&] { UNet(weights, {.threads = -1}); }), "unet: threads must be >= 0, but it is -1; 0 means all");
  EXPECT_EQ(error_of([] { parse_arithmetic("int8"); }), "arithmetic 'int8'; allowed: fp32, bf16");
  engine.prepare(8, 8);
  EXPECT_NE(error_of([&] { engine.run(nullptr, &value); }).find("must not be null"), std::string::npos);
}

TEST(UNet, BadValues) {
  SKIP_WITHOUT(Arithmetic::fp32);
  const NaiveUNet net{.widths = {4, 4}};
  for (const auto& [key, value, part] :
       {std::tuple(net.level_key(0, 1) + ".running_var", -1.0F, "holds -1; a variance is >= 0"),
        std::tuple(net.level_key(1, 3) + ".weight", std::numeric_limits<float>::quiet_NaN(), "weights must be finite"),
        std::tuple(net.head_key() + ".bias", std::numeric_limits<float>::infinity(), "holds inf")}) {
    Weights weights = net.weights();
    ConstTensor bad = *weights.find(key);
    std::vector<float> values(static_cast<std::size_t>(element_count(bad.shape)), value);
    bad.data = values.data();
    weights.add(key, bad);
    UNet engine(weights);
    EXPECT_NE(error_of([&, &wanted = part] { (void)wanted, engine.prepare(4, 4); }).find(part), std::string::npos)
        << key;
  }
}

}  // namespace
}  // namespace oriel::nn
