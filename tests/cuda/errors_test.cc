// What CUDA refuses, and what the entry points refuse before it: every error names what it is about, with CUDA's own
// text.
#include <gtest/gtest.h>

#include "cuda/device/launch.cuh"
#include "cuda/device_tensor.h"
#include "emulator/grid.h"
#include "oriel/pool.h"
#include "support.h"

namespace oriel::test {
namespace {

const Pool kPool{.op = Op::max, .windows = {.kernel = {3}, .stride = {1}, .axes = {2, 3}}};

struct Sum {
  using Input = float;
  using Accumulator = float;
  using Output = float;
  static float identity() { return 0; }
  static float lift(float v) { return v; }
  static float combine(float a, float b) { return a + b; }
  static float lower(float v, WindowCount) { return v; }
};

class CudaErrors : public testing::Test {
 protected:
  void SetUp() override {
    grid::options() = {};
    grid::reset();
  }

  static std::string error(auto&& f) { return message(f); }

  std::vector<float> numbers_ = std::vector<float>(64, 1.0F);
  DeviceTensor x_{Dtype::f32, {1, 1, 8, 8}, Layout::dense, numbers_.data()};
  DeviceTensor y_{Dtype::f32, {1, 1, 6, 6}, Layout::dense, nullptr};
  DeviceTensor dx_{Dtype::f32, {1, 1, 8, 8}, Layout::dense, nullptr};
};

TEST_F(CudaErrors, PointersOfTheHost) {
  Tensor host(numbers_.data(), Dtype::f32, {1, 1, 8, 8});
  host.device = Device::cuda;
  EXPECT_EQ(error([&] { forward(kPool, {.x = host, .y = y_.view()}); }),
            "max_pool: x must point to device memory, but its pointer is one of the host (invalid argument)");
}

TEST_F(CudaErrors, TensorsOnTwoDevices) {
  const Tensor host(numbers_.data(), Dtype::f32, {1, 1, 6, 6});
  EXPECT_EQ(error([&] { forward(kPool, {.x = x_.view(), .y = host}); }),
            "max_pool: x and y must be on the same device, but are on a CUDA device and the CPU");
  grid::move_to_device(y_.view().data, 1);
  EXPECT_EQ(error([&] { forward(kPool, {.x = x_.view(), .y = y_.view()}); }),
            "max_pool: y must be on the current CUDA device, 0, but is on device 1");
}

TEST_F(CudaErrors, MisalignedPointers) {
  Tensor odd = x_.view();
  odd.shape = {1, 1, 7, 8};
  odd.data = static_cast<std::byte*>(odd.data) + 2;
  EXPECT_EQ(error([&] { forward(kPool, {.x = odd, .y = y_.view()}); }),
            "max_pool: x must be aligned to its elements, 4 bytes, but its address is 2 beyond that");
}

TEST_F(CudaErrors, WhatTheRuntimeSays) {
  const auto forward_now = [&] { forward(kPool, {.x = x_.view(), .y = y_.view()}); };
  grid::fail_next("cudaLaunchKernel", cudaErrorLaunchFailure);
  EXPECT_EQ(error(forward_now),
            "cuda: the launch of a kernel failed: unspecified launch failure (cudaErrorLaunchFailure)");
  EXPECT_EQ(error(forward_now), "(no error)") << "the next call is not hurt";
  grid::fail_next("cudaGetDevice", cudaErrorNoDevice);
  EXPECT_EQ(error(forward_now), "cuda: cudaGetDevice failed: no CUDA-capable device is detected (cudaErrorNoDevice)");
  grid::fail_next("cudaPointerGetAttributes", cudaErrorInvalidValue);
  EXPECT_EQ(error(forward_now), "cuda: cudaPointerGetAttributes failed: invalid argument (cudaErrorInvalidValue)");
  grid::fail_next("cudaMallocAsync", cudaErrorMemoryAllocation);
  EXPECT_EQ(error([&] { backward(kPool, {.x = x_.view(), .dy = y_.view(), .dx = dx_.view()}); }),
            "cuda: cudaMallocAsync failed: out of memory (cudaErrorMemoryAllocation)");
  grid::fail_next("cudaFuncSetAttribute", cudaErrorInvalidValue);
  const std::vector<float> many(200 * 300, 1.0F);
  const DeviceTensor wide(Dtype::f32, {1, 1, 200, 300}, Layout::dense, many.data());
  const DeviceTensor out(Dtype::f32, {1, 1, 200, 300}, Layout::dense, nullptr);
  EXPECT_EQ(error([&] {
              forward({.op = Op::max, .windows = {.kernel = {63}, .stride = {1}, .pad_lo = {31}, .axes = {2, 3}}},
                      {.x = wide.view(), .y = out.view()});
            }),
            "cuda: cudaFuncSetAttribute failed: invalid argument (cudaErrorInvalidValue)");
}

void do_nothing(int) {}

TEST_F(CudaErrors, MoreBlocksThanAGridHas) {
  const auto begin = [](index_t threads) { cuda::launch(&do_nothing, threads, 1, 0, nullptr, 0); };
  EXPECT_EQ(error([&] { begin(index_t{1} << 31); }),
            "cuda: a launch must have at most 2^31 - 1 blocks, but needs 2147483648");
  begin(1);
  EXPECT_EQ(grid::report().launches, 1U);
}

TEST_F(CudaErrors, NoDevice) {
  grid::set_device_count(0);
  EXPECT_EQ(error([&] { forward(kPool, {.x = x_.view(), .y = y_.view()}); }),
            "cuda: cudaGetDevice failed: no CUDA-capable device is detected (cudaErrorNoDevice)");
  grid::set_device_count(2);
}

TEST_F(CudaErrors, ReductionsOfTheCallersOwn) {
  EXPECT_EQ(error([&] {
              forward<Sum>({.kernel = {3}, .stride = {1}, .axes = {2, 3}}, {.x = x_.view(), .y = y_.view()});
            }),
            "forward: x must be on the CPU for a reduction of your own, but is on a CUDA device");
}

// Offsets beyond 2^31, by memory that is only reserved: the last blocks of a grid run, the others are skipped.
TEST_F(CudaErrors, MoreThan2To31Elements) {
  const index_t width = (index_t{1} << 31) + 96;
  auto* x = static_cast<std::uint8_t*>(grid::allocate(static_cast<std::size_t>(width), "x"));
  auto* y = static_cast<std::uint8_t*>(grid::allocate(static_cast<std::size_t>(width), "y"));
  ASSERT_NE(x, nullptr);
  ASSERT_NE(y, nullptr);
  for (index_t i = width - 2000; i < width; ++i) x[i] = static_cast<std::uint8_t>(i * 7);
  grid::mark_written(x + width - 2000, 2000);
  grid::options().last_share = 700.0 / static_cast<double>(width);
  forward({.op = Op::max, .windows = {.kernel = {3}, .stride = {1}, .pad_lo = {1}, .axes = {0}}},
          {.x = ConstTensor(x, Dtype::u8, {width}, {1}, Device::cuda),
           .y = Tensor(y, Dtype::u8, {width}, {1}, Device::cuda)});
  EXPECT_TRUE(grid::report().failures.empty()) << grid::report().failures[0];
  for (index_t i = width - 500; i < width; ++i) {
    const std::uint8_t next = i + 1 < width ? x[i + 1] : std::uint8_t{0};
    ASSERT_EQ(y[i], std::max({x[i - 1], x[i], next})) << i;
  }
  grid::release(x);
  grid::release(y);
}

}  // namespace
}  // namespace oriel::test
