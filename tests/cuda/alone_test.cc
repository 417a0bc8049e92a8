// A library without the CPU backend pools tensors on devices, and refuses others.
#include <gtest/gtest.h>

#include <numeric>

#include "cuda/device_tensor.h"
#include "emulator/grid.h"
#include "oriel/pool.h"
#include "support.h"

namespace oriel::test {
namespace {

const Pool kPool{.op = Op::max, .windows = {.kernel = {2}, .axes = {2, 3}}};

TEST(CudaAlone, PoolsTensorsOnDevices) {
  grid::options() = {};
  grid::reset();
  std::vector<float> numbers(16);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  DeviceTensor x(Dtype::f32, {1, 1, 4, 4}, Layout::dense, numbers.data());
  DeviceTensor y(Dtype::f32, {1, 1, 2, 2}, Layout::dense, nullptr);
  forward(kPool, {.x = x.view(), .y = y.view()});
  const std::vector<std::byte> result = y.fetch().dense();
  std::vector<float> values(4);
  std::memcpy(values.data(), result.data(), result.size());
  EXPECT_EQ(values, (std::vector<float>{5, 7, 13, 15}));
}

TEST(CudaAlone, RefusesTensorsOnTheCpu) {
  const std::vector<float> x(16);
  std::vector<float> y(4);
  EXPECT_EQ(error_of([&] {
              forward(kPool, {.x = {x, {1, 1, 4, 4}}, .y = {std::span(y), {1, 1, 2, 2}}});
            }),
            "cpu: this build pools on CUDA devices only; build with ORIEL_CPU=ON");
}

}  // namespace
}  // namespace oriel::test
