// A build without a library of convolutions: src/nn/cpu/none.cc is linked in place of the other.
#include <gtest/gtest.h>

#include "nn/naive_unet.h"
#include "nn/weights_text.h"

namespace oriel::nn {
namespace {

TEST(WithoutConvolutions, NetworksAreReadAndNotRun) {
  const Weights weights = NaiveUNet{.widths = {4, 8}}.weights();
  EXPECT_EQ(describe(weights).levels(), 2);
  for (Arithmetic a : {Arithmetic::fp32, Arithmetic::bf16}) {
    EXPECT_FALSE(supports(a));
    EXPECT_EQ(error_of([&] { UNet(weights, {.arithmetic = a}); }),
              "unet: this build of Oriel has no oneDNN, which carries out convolutions; install libdnnl-dev and build "
              "again");
  }
}

TEST(WithoutCuda, NetworksAreReadAndNotRun) {
  const Weights weights = NaiveUNet{.widths = {4, 8}}.weights();
  EXPECT_FALSE(supports(Arithmetic::fp32, Device::cuda));
  EXPECT_EQ(error_of([&] { UNet(weights, {.device = Device::cuda}); }),
            "unet: a CUDA device was requested, but this build runs networks on the CPU only; build with ORIEL_CUDA=ON "
            "and nvcc");
}

}  // namespace
}  // namespace oriel::nn
