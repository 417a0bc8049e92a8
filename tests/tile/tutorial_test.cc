// NKI's tutorial, exactly: C=2, 6x6, pool 2 in f16, bf16 and f32; and what its data hides.
#include <gtest/gtest.h>

#include "oriel/pool.h"
#include "oriel/tile/kernels.h"
#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

TEST(Tutorial, TheThreeScriptsResults) {
  const double expected[18] = {3.5,  5.5,  7.5,  15.5, 17.5, 19.5, 27.5, 29.5, 31.5,
                               39.5, 41.5, 43.5, 51.5, 53.5, 55.5, 63.5, 65.5, 67.5};
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const nki::array y = agreed(tensor_avgpool_kernel, nki::array::arange(dtype, {2, 6, 6}), 2);
    ASSERT_EQ(y.shape(), (Extents{2, 3, 3})) << name(dtype);
    for (index_t i = 0; i < 18; ++i) EXPECT_EQ(y.at(i), expected[i]) << name(dtype);
  }
}

TEST(Tutorial, TheTwinOfMaxima) {  // NKI's index-case-3
  const auto tensor_maxpool_kernel = nki::jit("tensor_maxpool_kernel", [](nl::tensor in_tensor, int sz_pool) {
    auto [sz_p, sz_hin, sz_win] = in_tensor.shape<3>();
    auto out_tensor =
        nl::ndarray({sz_p, sz_hin / sz_pool, sz_win / sz_pool}, {.dtype = in_tensor.dtype(), .buffer = nl::shared_hbm});
    auto [i0, i1, i2, i3, i4] = nl::mgrid(sz_p, sz_hin / sz_pool, sz_pool, sz_win / sz_pool, sz_pool);
    auto in_tile = nl::load(in_tensor);
    nl::store(out_tensor, nl::max(in_tile[{i0, sz_pool * i1 + i2, sz_pool * i3 + i4}], {.axis = {2, 4}}));
    return out_tensor;
  });
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const nki::array y = agreed(tensor_maxpool_kernel, nki::array::arange(dtype, {2, 6, 6}), 2);
    ASSERT_EQ(y.shape(), (Extents{2, 3, 3})) << name(dtype);
    for (index_t i = 0; i < 18; ++i)
      EXPECT_EQ(y.at(i), static_cast<double>(i / 9 * 36 + i % 9 / 3 * 12 + i % 3 * 2 + 7)) << name(dtype);
  }
}

TEST(Tutorial, TheSameOnEveryMachine) {
  const nki::array x = nki::array::arange(Dtype::f16, {2, 6, 6});
  const nki::array y = tensor_avgpool_kernel(x, 2);
  for (const nki::machine& m : {nki::trn1, nki::trn2, nki::trn3})
    EXPECT_TRUE(same_bits(nki::simulate(tensor_avgpool_kernel, m)(x, 2), y)) << m.name;
}

TEST(Tutorial, AgreesWithTheEngine) {
  const nki::array x = numbers(Dtype::f32, {5, 12, 9});
  const nki::array y = agreed(tensor_avgpool_kernel, x, 3);
  nki::array z(Dtype::f32, {5, 4, 3});
  forward({.op = Op::avg, .windows = {.kernel = {3}, .axes = {1, 2}}}, {.x = x, .y = z});
  EXPECT_TRUE(same_bits(y, z));
}

TEST(Tutorial, RowsThatDoNotFillAWindowAreLeftOut) {
  const nki::array y = agreed(tensor_avgpool_kernel, nki::array::arange(Dtype::f32, {1, 5, 5}), 2);
  ASSERT_EQ(y.shape(), (Extents{1, 2, 2}));
  EXPECT_EQ(y.at(0), 3);
  EXPECT_EQ(y.at(3), 15);
}

TEST(Tutorial, TheSumOfHalvesIsRoundedBeforeTheDivision) {
  nki::array x(Dtype::f16, {1, 2, 2});
  for (index_t i = 0; i < 4; ++i) x.data<half>()[i] = half(20000.0);
  EXPECT_TRUE(std::isinf(agreed(tensor_avgpool_kernel, x, 2).at(0)));  // 80000 has no half

  const auto precise = nki::jit("precise", kernels::tensor_avgpool_precise);
  EXPECT_EQ(agreed(precise, x, 2).at(0), 20000);

  const auto mean = nki::jit("mean", [](nl::tensor in) {  // nl.mean keeps f32 between the sum and the division
    auto out = nl::ndarray({1, 1, 1}, {.dtype = in.dtype(), .buffer = nl::shared_hbm});
    nl::store(out, nl::mean(nl::load(in), {.axis = {1, 2}, .keepdims = true}));
    return out;
  });
  EXPECT_EQ(agreed(mean, x).at(0), 20000);
}

TEST(Tutorial, ANanStaysUnlikeInTheTutorialsReference) {
  nki::array x = nki::array::arange(Dtype::f32, {1, 2, 2});
  x.data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(tensor_avgpool_kernel(x, 2).at(0)));  // its nanmean gives 1
}

TEST(Tutorial, SpecialisationsAreKept) {
  int recorded = 0;
  const auto kernel = nki::jit("counted", [&recorded](nl::tensor x, int factor) {
    ++recorded;
    auto out = nl::ndarray({2, 3}, {.dtype = x.dtype(), .buffer = nl::shared_hbm});
    nl::store(out, nl::load(x) * factor);
    return out;
  });
  const nki::array x = nki::array::arange(Dtype::f32, {2, 3}), h = nki::array::arange(Dtype::f16, {2, 3});
  EXPECT_EQ(kernel(x, 2).at(5), 10);
  EXPECT_EQ(kernel(x, 2).at(5), 10);
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(kernel(x, 3).at(5), 15);
  EXPECT_EQ(kernel(h, 2).at(5), 10);
  EXPECT_EQ(recorded, 3);
}

TEST(Tutorial, ArgumentsOfAnyPitchAndResultsInPlace) {
  const nki::array x = nki::array::arange(Dtype::f32, {6, 6, 2});  // channels last
  const ConstTensor turned(x.data(), Dtype::f32, {2, 6, 6}, {1, 12, 2});
  nki::array y(Dtype::f32, {2, 3, 3});
  tensor_avgpool_kernel.into({y})(turned, 2);
  EXPECT_EQ(y.at(0), (0 + 2 + 12 + 14) / 4.0);
  EXPECT_EQ(y.at(9), (1 + 3 + 13 + 15) / 4.0);
  EXPECT_THROW(tensor_avgpool_kernel.into({Tensor(y.data(), Dtype::f32, {2, 3, 2})})(turned, 2), Error);
}

}  // namespace
}  // namespace oriel::tile::test
