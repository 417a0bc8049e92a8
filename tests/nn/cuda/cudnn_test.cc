// cuDNN beside Oriel's kernels: a library that stands in for it and works on the emulator's memory.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "nn/cuda/cudnn_stand_in.h"
#include "nn/cuda/device_planes.h"
#include "nn/naive_unet.h"
#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

constexpr double kOwnMilliseconds = 1;  // of every launch in the emulator
constexpr int kPrecompGemm = 1, kWinograd = 6;
const UNetOptions kOnDevice{.device = Device::cuda};

double relative(std::span<const float> own, const std::vector<double>& wanted) {
  double apart = 0, largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double d = std::fabs(own[i] - wanted[i]);
    apart = d <= apart ? apart : d;
    largest = std::max(largest, std::fabs(wanted[i]));
  }
  return apart / largest;
}

class Cudnn : public testing::Test {
 protected:
  static constexpr index_t kHeight = 16, kWidth = 24;

  void SetUp() override {
    grid::options() = {};
    grid::reset();
    library_ = ::dlopen(ORIEL_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
    state_ = reinterpret_cast<cudnn_stand_in::StateOf>(::dlsym(library_, cudnn_stand_in::kStateOf))();
    state_->reset();
    ::setenv("ORIEL_EMULATED_CUDNN", ORIEL_STAND_IN, 1);
  }

  void TearDown() override {
    ::unsetenv("ORIEL_EMULATED_CUDNN");
    EXPECT_EQ(state_->complaints, std::vector<std::string>());
    EXPECT_EQ(state_->living, 0) << "handles and descriptors were not given back";
    EXPECT_EQ(grid::report().failures, std::vector<std::string>());
    ::dlclose(library_);
  }

  void takes(int algorithm, double milliseconds, std::size_t workspace = 0) {
    state_->milliseconds[static_cast<std::size_t>(algorithm)] = milliseconds;
    state_->workspace[static_cast<std::size_t>(algorithm)] = workspace;
  }

  UNet prepared(const UNetOptions& options = kOnDevice) const {
    UNet engine(net_.weights(), options);
    engine.prepare(kHeight, kWidth);
    return engine;
  }

  std::vector<float> run(UNet& engine) const {
    std::vector<float> logits(static_cast<std::size_t>(net_.classes * kHeight * kWidth), -7);
    engine.run(image_.data(), logits.data());
    return logits;
  }

  // Of Oriel's kernels alone.
  std::vector<float> own_result() const {
    UNet engine = prepared({.trial = false, .device = Device::cuda});
    return run(engine);
  }

  static std::vector<std::string> algorithms(const UNet& engine) {
    std::vector<std::string> out;
    for (const UNetStep& step : engine.steps())
      if (step.layer.starts_with("conv")) out.push_back(step.algorithm);
    return out;
  }

  // Every block within 1e-5.
  void expect_near_definition(UNet& engine) const {
    const auto wanted = net_.run(net_.weights(), image_, kHeight, kWidth);
    std::vector<float> logits(wanted.back().values.size());
    std::size_t at = 0;
    engine.run(image_.data(), logits.data(),
               [&](const std::string& block, const Extents&, std::span<const float> values) {
                 EXPECT_LE(relative(values, wanted[at++].values), 1e-5) << block;
               });
    EXPECT_EQ(at, wanted.size());
  }

  static bool is_own(const std::string& algorithm) { return algorithm.starts_with("cuda tiles of "); }

  void expect_own(const UNet& engine) const {
    for (const std::string& algorithm : algorithms(engine)) EXPECT_TRUE(is_own(algorithm)) << algorithm;
  }

  const NaiveUNet net_{.widths = {8, 12, 20}};
  const std::vector<float> image_ = cuda::random_values(3 * kHeight * kWidth, 5);
  cudnn_stand_in::State* state_ = nullptr;

 private:
  void* library_ = nullptr;
};

TEST_F(Cudnn, CarriesOutWhatItIsFastestAt) {
  takes(kPrecompGemm, 0.5 * kOwnMilliseconds);
  takes(kWinograd, 0.25 * kOwnMilliseconds, 4096);
  UNet engine = prepared();
  EXPECT_EQ(engine.library(), "cuDNN 9.1.0");
  for (const UNetStep& step : engine.steps()) {
    if (!step.layer.starts_with("conv")) continue;
    const bool pooled = step.block.starts_with("down") && step.block != "down_3" && step.layer == "conv2";
    const std::string name = "cudnn winograd";
    if (!pooled) {
      EXPECT_EQ(step.algorithm, name) << step.block;
      EXPECT_FLOAT_EQ(static_cast<float>(step.milliseconds), 0.25F);
    } else {  // with the kernel that pools it is slower than one that does both
      EXPECT_TRUE(is_own(step.algorithm)) << step.algorithm;
    }
  }
  state_->calls.clear();
  const auto wanted = net_.run(net_.weights(), image_, kHeight, kWidth);
  std::vector<float> logits(wanted.back().values.size());
  std::size_t at = 0;
  engine.run(image_.data(), logits.data(),
             [&](const std::string& block, const Extents&, std::span<const float> values) {
               EXPECT_LE(relative(values, wanted[at++].values), 1e-5) << block;
             });
  EXPECT_EQ(at, wanted.size());
  EXPECT_EQ(state_->calls.size(), 8U);
}

TEST_F(Cudnn, PoolsBehindItWhereThatIsFaster) {
  takes(kPrecompGemm, 0.25 * kOwnMilliseconds);
  grid::options().plain_milliseconds = 0.5 * kOwnMilliseconds;
  UNet engine = prepared();
  const std::string name = "cudnn implicit_precomp_gemm";
  EXPECT_EQ(algorithms(engine), (std::vector<std::string>{name, name + ", then pooled", name, name + ", then pooled",
                                                          name, name, name, name, name, name}));
  EXPECT_EQ(engine.steps()[2].milliseconds, 0.75 * kOwnMilliseconds);
  expect_near_definition(engine);
}

// What the library is told: strides into joined tensors, the stream, no TF32, NaNs that stay.
TEST_F(Cudnn, Calls) {
  takes(kWinograd, 0.25 * kOwnMilliseconds, 4096);
  UNet engine = prepared();
  state_->calls.clear();
  run(engine);
  bool joined = false;
  for (const cudnn_stand_in::Call& call : state_->calls) {
    EXPECT_EQ(call.algorithm, kWinograd);
    EXPECT_EQ(call.math, 3) << "CUDNN_FMA_MATH";
    EXPECT_EQ(call.nan, 1) << "CUDNN_PROPAGATE_NAN";
    EXPECT_EQ(call.stream, grid::report().stream);
    EXPECT_EQ(call.workspace_bytes, 4096U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(call.workspace) % 64, 0U);
    for (const std::vector<int>& t : {call.x, call.y}) {
      const int plane = t[2] * t[3];
      const std::vector<int> strides{t[1] * t[5], t[5], t[3], 1};
      EXPECT_EQ(std::vector<int>(t.begin() + 4, t.end()), strides);
      EXPECT_TRUE(t[5] == plane || t[5] == (plane + 15) / 16 * 16) << t[5];
    }
    joined = joined || (call.x[1] == 24 && call.y[1] == 12);  // up-sampled channels and the skip's, side by side
  }
  EXPECT_TRUE(joined);
}

TEST_F(Cudnn, WorkspacesAreInThePlan) {
  constexpr std::size_t kLarge = 1 << 20;  // more than all activations
  takes(kWinograd, 0.25 * kOwnMilliseconds, kLarge);
  UNet engine = prepared();
  const UNetMemory memory = engine.memory();
  EXPECT_GE(memory.lower_bound, index_t{kLarge});
  EXPECT_LE(memory.lower_bound,
            index_t{kLarge} + prepared({.trial = false, .device = Device::cuda}).memory().lower_bound);
  EXPECT_LE(static_cast<double>(memory.activations), 1.1 * static_cast<double>(memory.lower_bound));
  const std::vector<float> own = own_result();
  EXPECT_LE(relative(run(engine), std::vector<double>(own.begin(), own.end())), 1e-5);
}

TEST_F(Cudnn, ItsSlowerAlgorithmsAreLeft) {
  takes(kPrecompGemm, 1.5 * kOwnMilliseconds);
  takes(kWinograd, 2 * kOwnMilliseconds, 64);
  UNet engine = prepared();
  EXPECT_EQ(engine.library(), "cuDNN 9.1.0");
  expect_own(engine);
  EXPECT_EQ(engine.steps()[1].milliseconds, kOwnMilliseconds);
  state_->calls.clear();
  cuda::expect_same_bits(run(engine), own_result());
  EXPECT_EQ(state_->calls.size(), 0U);
}

TEST_F(Cudnn, EachShapeIsTriedOnce) {
  takes(kPrecompGemm, 2 * kOwnMilliseconds);
  const UNet engine = prepared();
  std::set<std::vector<int>> shapes;
  for (const cudnn_stand_in::Call& call : state_->calls) {
    std::vector<int> shape = call.x;
    shape.insert(shape.end(), call.y.begin(), call.y.end());
    shapes.insert(shape);
  }
  // 8 -> 8 and 12 -> 12 channels come twice: with and without maxima. One run warms up, three are timed.
  EXPECT_EQ(state_->calls.size(), 4 * (shapes.size() + 2));
}

// Algorithms that the library names and then refuses, and those whose room is more than a device should give.
TEST_F(Cudnn, WhatIsRefusedIsLeft) {
  takes(kPrecompGemm, 0.25);
  takes(kWinograd, 0.5);
  state_->failing["algorithm 1"] = 1;
  UNet engine = prepared();
  EXPECT_EQ(algorithms(engine).front(), "cudnn winograd");
  takes(kWinograd, 0.5, (std::size_t{1} << 30) + 1);
  expect_own(prepared());
  takes(kWinograd, -1);
  expect_own(prepared());
}

TEST_F(Cudnn, AbsentOrUnfit) {
  const std::vector<float> own = own_result();
  takes(kWinograd, 0.25);
  const auto expect_none = [&](const std::string& reason) {
    UNet engine = prepared();
    EXPECT_EQ(engine.library(), "Oriel's kernels alone, without cuDNN: " + reason);
    expect_own(engine);
    EXPECT_EQ(engine.steps()[1].milliseconds, 0);
    cuda::expect_same_bits(run(engine), own);
  };
  state_->failing["cudnnCreate"] = 1001;
  expect_none("cudnn: cudnnCreate failed: CUDNN_STATUS_EXECUTION_FAILED (status 1001)");
  state_->failing = {{"cudnnSetStream", 1001}};
  expect_none("cudnn: cudnnSetStream failed: CUDNN_STATUS_EXECUTION_FAILED (status 1001)");
  ::setenv("ORIEL_EMULATED_CUDNN", ORIEL_INCOMPLETE, 1);
  expect_none(std::string(ORIEL_INCOMPLETE) + " has no cudnnSetConvolutionMathType");
  ::unsetenv("ORIEL_EMULATED_CUDNN");
  expect_none("libcudnn.so.none: cannot open shared object file: No such file or directory");
  EXPECT_EQ(state_->calls.size(), 0U);
}

TEST_F(Cudnn, IsNotAskedWithoutATrial) {
  takes(kWinograd, 0.25);
  state_->failing["cudnnCreate"] = 1;
  const UNet engine = prepared({.trial = false, .device = Device::cuda});
  EXPECT_EQ(engine.library(), "Oriel's kernels alone, since nothing is to be timed");
  expect_own(engine);
}

TEST_F(Cudnn, VersionsOfBothForms) {
  state_->version = 8902;
  EXPECT_EQ(prepared().library(), "cuDNN 8.9.2");
  state_->version = 91002;
  EXPECT_EQ(prepared().library(), "cuDNN 9.10.2");
}

TEST_F(Cudnn, WhatItSaysOfFailures) {
  takes(kWinograd, 0.25);
  UNet engine = prepared();
  const std::string name = "cudnnConvolutionBiasActivationForward";
  state_->failing[name] = 3000;
  EXPECT_EQ(error_of([&] { run(engine); }), "cudnn: " + name + " failed: CUDNN_STATUS_NOT_SUPPORTED (status 3000)");
  state_->failing.clear();
  expect_near_definition(engine);
  for (const char* call :
       {"cudnnCreateTensorDescriptor", "cudnnSetTensor4dDescriptorEx", "cudnnCreateFilterDescriptor",
        "cudnnSetFilter4dDescriptor", "cudnnCreateConvolutionDescriptor", "cudnnSetConvolution2dDescriptor",
        "cudnnSetConvolutionMathType", "cudnnCreateActivationDescriptor", "cudnnSetActivationDescriptor"}) {
    state_->failing = {{call, 7}};
    EXPECT_EQ(error_of([&] { prepared(); }),
              std::string("cudnn: ") + call + " failed: CUDNN_STATUS_EXECUTION_FAILED (status 7)");
  }
}

TEST_F(Cudnn, WhatTheRuntimeSaysInATrial) {
  takes(kWinograd, 0.25);
  for (const char* call : {"cudaEventCreate", "cudaEventRecord", "cudaEventSynchronize", "cudaEventElapsedTime",
                           "cudaMemsetAsync", "cudaStreamSynchronize"}) {
    grid::fail_next(call, cudaErrorLaunchFailure);
    EXPECT_EQ(error_of([&] { prepared(); }),
              std::string("cuda: ") + call + " failed: unspecified launch failure (cudaErrorLaunchFailure)");
  }
}

TEST_F(Cudnn, AnotherHasItsOwnHandle) {
  takes(kWinograd, 0.25, 128);
  UNet engine = prepared();
  const std::vector<float> first = run(engine);
  const void* const stream = state_->calls.back().stream;
  const int living = state_->living;
  {
    UNet second = engine.another();
    EXPECT_EQ(state_->living, living + 1);
    cuda::expect_same_bits(run(second), first);
    EXPECT_NE(state_->calls.back().stream, stream);
  }
  EXPECT_EQ(state_->living, living);
  cuda::expect_same_bits(run(engine), first);
}

TEST_F(Cudnn, StepsAreTimedByEvents) {
  takes(kWinograd, 0.25);
  UNet engine = prepared();
  std::vector<float> logits(kHeight * kWidth);
  const std::vector<double> milliseconds = engine.time_steps(image_.data(), logits.data());
  cuda::expect_same_bits(logits, run(engine));
  const std::vector<UNetStep> steps = engine.steps();
  ASSERT_EQ(milliseconds.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool copy = steps[i].algorithm == "copy", cudnn = steps[i].algorithm.starts_with("cudnn");
    EXPECT_FLOAT_EQ(static_cast<float>(milliseconds[i]), copy ? 0 : cudnn ? 0.25F : 1) << steps[i].layer;
  }
}

}  // namespace
}  // namespace oriel::nn
