// Whole networks on the emulated device: every block against the definition, copies and memory, what CUDA refuses.
#include <algorithm>
#include <cmath>

#include "nn/cuda/device_planes.h"
#include "nn/cuda/prepared.h"
#include "nn/naive_unet.h"
#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

const UNetOptions kOnDevice{.device = Device::cuda};

double relative(std::span<const float> own, std::span<const double> wanted) {
  double apart = 0, largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = std::fabs(own[i] - wanted[i]);
    apart = d <= apart ? apart : d;
    largest = std::max(largest, std::fabs(wanted[i]));
  }
  return apart / largest;
}

std::vector<float> image_for(const NaiveUNet& net, index_t height, index_t width) {
  return cuda::random_values(static_cast<std::size_t>(net.input_channels * height * width), 5);
}

std::vector<float> room_for(const NaiveUNet& net, index_t height, index_t width) {
  return std::vector<float>(static_cast<std::size_t>(net.classes * height * width), -7);
}

// Every block within 1e-5 of the definition and, where there is one, of the CPU's engine; in every schedule the same
// bits.
void expect_close(const NaiveUNet& net, index_t height, index_t width) {
  SCOPED_TRACE(testing::Message() << net.widths.size() << " levels at " << height << "x" << width);
  const Weights weights = net.weights();
  const std::vector<float> image = image_for(net, height, width);
  const auto wanted = net.run(weights, image, height, width);
  std::vector<float> first;
  cuda::in_every_order([&] {
    UNet engine(weights, kOnDevice);
    engine.prepare(height, width);
    std::vector<float> logits = room_for(net, height, width);
    std::size_t at = 0;
    engine.run(image.data(), logits.data(),
               [&](const std::string& block, const Extents& shape, std::span<const float> values) {
                 ASSERT_LT(at, wanted.size());
                 EXPECT_EQ(block, wanted[at].name);
                 EXPECT_EQ(shape, (Extents{wanted[at].channels, wanted[at].height, wanted[at].width}));
                 EXPECT_LE(relative(values, wanted[at].values), 1e-5) << block;
                 ++at;
               });
    EXPECT_EQ(at, wanted.size());
    std::vector<float> again = room_for(net, height, width);
    engine.run(image.data(), again.data());
    cuda::expect_same_bits(again, logits);
    if (first.empty()) first = logits;
    cuda::expect_same_bits(logits, first);
  });
  if (!supports(Arithmetic::fp32)) return;
  UNet on_cpu(weights, {.threads = 1, .trial = false});
  on_cpu.prepare(height, width);
  std::vector<float> logits = room_for(net, height, width);
  on_cpu.run(image.data(), logits.data());
  EXPECT_LE(relative(first, std::vector<double>(logits.begin(), logits.end())), 1e-5);
}

TEST(CudaUNet, MatchesTheDefinitionAndTheCpu) {
  for (bool milesial : {false, true}) {
    expect_close({.widths = {8, 16}, .milesial = milesial, .bias = !milesial}, 16, 24);
    expect_close({.widths = {16, 32, 64}, .milesial = milesial}, 32, 32);
  }
}

// Channels that fill no tile, other numbers of them in and out, one pixel at the bottom, planes of a few elements.
TEST(CudaUNet, MatchesTheDefinitionForOddChannels) {
  for (bool milesial : {false, true}) {
    expect_close({.input_channels = 1, .classes = 2, .widths = {5, 7, 19}, .milesial = milesial}, 4, 4);
    expect_close({.input_channels = 4, .classes = 3, .widths = {8, 24, 12, 40}, .milesial = milesial}, 16, 8);
  }
  expect_close({.input_channels = 20, .widths = {3, 4}}, 2, 6);
  expect_close({.classes = 5, .widths = {3, 4, 5}}, 12, 20);
}

class CudaEngine : public testing::Test {
 protected:
  void SetUp() override {
    grid::options() = {};
    grid::reset();
  }

  const NaiveUNet net_{.widths = {8, 8, 8, 8, 8}};
  const std::vector<float> image_ = image_for(net_, 16, 32);
  std::vector<float> logits_ = room_for(net_, 16, 32);
};

// Counted by the engine and, without its knowledge, by the emulator.
TEST_F(CudaEngine, CopiesOneInOneOutAndWeightsOnce) {
  UNet engine(net_.weights(), kOnDevice);
  engine.prepare(16, 32);
  EXPECT_EQ(grid::report().copies_in, 1U);  // all weights
  EXPECT_EQ(grid::report().launches, 0U);
  for (int run = 0; run < 2; ++run) {
    grid::reset();
    engine.run(image_.data(), logits_.data());
    EXPECT_EQ(grid::report().copies_in, 1U);
    EXPECT_EQ(grid::report().copies_out, 1U);
    EXPECT_EQ(grid::report().launches, engine.steps().size() - 2);  // one for each layer; pools have none
    EXPECT_NE(grid::report().stream, nullptr);
    index_t total = 0;
    for (const UNetCopies& row : engine.copies()) {
      total += row.copies;
      EXPECT_EQ(row.copies, row.block == "down_1" || row.block == "out" ? 1 : 0) << row.block;
    }
    EXPECT_EQ(total, 2);
    EXPECT_EQ(engine.copies().size(), 10U);
  }
  const UNetMemory memory = engine.memory();
  EXPECT_GE(memory.activations, memory.lower_bound);
  EXPECT_LE(static_cast<double>(memory.activations), 1.1 * static_cast<double>(memory.lower_bound));
  EXPECT_EQ(memory.weights % 64, 0);
}

TEST_F(CudaEngine, StepsNameTheirTiles) {
  UNet engine(NaiveUNet{.widths = {8, 70}}.weights(), kOnDevice);
  EXPECT_TRUE(engine.steps().empty());
  engine.prepare(16, 32);
  std::vector<std::string> rows;
  for (const UNetStep& s : engine.steps()) rows.push_back(s.block + " " + s.layer + " " + s.algorithm);
  EXPECT_EQ(rows, (std::vector<std::string>{"down_1 in copy", "down_1 conv1 cuda tiles of 8x32x32",
                                            "down_1 conv2 cuda tiles of 8x32x32, pooled",
                                            "down_2 conv1 cuda tiles of 64x8x32", "down_2 conv2 cuda tiles of 64x8x32",
                                            "up_1 up cuda tiles of 8x16x32", "up_1 conv1 cuda tiles of 8x32x32",
                                            "up_1 conv2 cuda tiles of 8x32x32", "out head cuda", "out out copy"}));
}

TEST_F(CudaEngine, AnotherSharesTheWeightsAndHasItsOwnStream) {
  UNet engine(net_.weights(), kOnDevice);
  engine.prepare(16, 32);
  engine.run(image_.data(), logits_.data());
  const cudaStream_t stream = grid::report().stream;
  grid::reset();
  UNet second = engine.another();
  EXPECT_EQ(grid::report().copies_in, 0U);
  std::vector<float> again = room_for(net_, 16, 32);
  second.run(image_.data(), again.data());
  cuda::expect_same_bits(again, logits_);
  EXPECT_NE(grid::report().stream, stream);
}

TEST_F(CudaEngine, WhatTheRuntimeSays) {
  const Weights weights = net_.weights();
  UNet engine(weights, kOnDevice);
  const auto prepare = [&] { engine.prepare(16, 32); };
  const auto run = [&] { engine.run(image_.data(), logits_.data()); };
  grid::fail_next("cudaMalloc", cudaErrorMemoryAllocation);
  const std::string text = error_of(prepare);
  EXPECT_TRUE(text.starts_with("unet: ")) << text;
  EXPECT_NE(text.find(" bytes of device memory for weights: cuda: cudaMalloc failed: out of memory "
                      "(cudaErrorMemoryAllocation)"),
            std::string::npos)
      << text;
  EXPECT_EQ(error_of(run), "unet: run before prepare(height, width)") << "what failed leaves nothing behind";
  grid::fail_next("cudaMemcpy", cudaErrorInvalidValue);
  EXPECT_EQ(error_of(prepare), "cuda: cudaMemcpy failed: invalid argument (cudaErrorInvalidValue)");
  grid::fail_next("cudaGetDeviceProperties", cudaErrorInvalidDevice);
  EXPECT_EQ(error_of(prepare), "cuda: cudaGetDeviceProperties failed: invalid device ordinal (cudaErrorInvalidDevice)");
  grid::fail_next("cudaStreamCreateWithFlags", cudaErrorMemoryAllocation);
  EXPECT_EQ(error_of(prepare), "cuda: cudaStreamCreate failed: out of memory (cudaErrorMemoryAllocation)");
  prepare();
  for (const auto& [call, what] : {std::pair("cudaLaunchKernel", "the launch of a kernel"),
                                   {"cudaMemcpyAsync", "cudaMemcpyAsync"},
                                   {"cudaStreamSynchronize", "cudaStreamSynchronize"}}) {
    grid::fail_next(call, cudaErrorLaunchFailure);
    EXPECT_EQ(error_of(run),
              std::string("cuda: ") + what + " failed: unspecified launch failure (cudaErrorLaunchFailure)");
  }
  run();  // the next call is not hurt
}

// Its weights are there; only the memory of activations is not.
TEST_F(CudaEngine, NoMemoryForAnother) {
  UNet engine(net_.weights(), kOnDevice);
  engine.prepare(16, 32);
  grid::fail_next("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_EQ(error_of([&] { (void)engine.another(); }),
            "unet: cannot allocate " + std::to_string(engine.memory().activations) +
                " bytes of device memory for activations: cuda: cudaMalloc failed: out of memory "
                "(cudaErrorMemoryAllocation)");
}

TEST_F(CudaEngine, BadCalls) {
  const Weights weights = net_.weights();
  EXPECT_TRUE(supports(Arithmetic::fp32, Device::cuda));
  EXPECT_FALSE(supports(Arithmetic::bf16, Device::cuda));
  EXPECT_EQ(error_of([&] { UNet(weights, {.arithmetic = Arithmetic::bf16, .device = Device::cuda}); }),
            "unet: networks on CUDA devices run in fp32, but bf16 was requested");
  UNet engine(weights, kOnDevice);
  EXPECT_NE(error_of([&] { engine.prepare(24, 16); }).find("multiples of 16"), std::string::npos);
  engine.prepare(16, 32);
  EXPECT_NE(error_of([&] { engine.run(nullptr, logits_.data()); }).find("must not be null"), std::string::npos);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(error_of([&] { engine.run(image_.data(), logits_.data()); }),
            "unet: prepared on CUDA device 0, but the current device is 1");
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  grid::set_device_count(0);
  EXPECT_EQ(error_of([&] { UNet(weights, kOnDevice); }),
            "unet: cuda: cudaGetDevice failed: no CUDA-capable device is detected (cudaErrorNoDevice)");
  EXPECT_FALSE(supports(Arithmetic::fp32, Device::cuda));
  grid::set_device_count(2);
}

TEST_F(CudaEngine, BadValues) {
  Weights weights = net_.weights();
  ConstTensor bad = *weights.find(net_.head_key() + ".bias");
  const float infinite = std::numeric_limits<float>::infinity();
  bad.data = &infinite;
  weights.add(net_.head_key() + ".bias", bad);
  UNet engine(weights, kOnDevice);
  EXPECT_NE(error_of([&] { engine.prepare(16, 16); }).find("weights must be finite"), std::string::npos);
}

}  // namespace
}  // namespace oriel::nn
