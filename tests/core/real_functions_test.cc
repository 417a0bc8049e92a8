// The exponentials, logarithms and powers that rules S7 and S19 are computed with, against those of long double.
#include "real_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "seeds.h"

namespace oriel::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The error of `got` in units in the last place of the exact result, a normal number.
double units(double got, long double exact) {
  const int exponent = std::ilogb(static_cast<double>(exact));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / std::ldexp(1.0L, exponent - 52));
}

// A positive number of any size.
double any_size(std::mt19937_64& random) {
  return std::ldexp(std::uniform_real_distribution<double>(1, 2)(random),
                    std::uniform_int_distribution<int>(-1022, 1023)(random));
}

TEST(RealFunctions, S19_ExponentialsAndLogarithms) {
  std::mt19937_64 random(seeds()[1]);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::uniform_real_distribution<double>(-708, 709)(random);
    ASSERT_LE(units(fixed_exp(x), std::exp(static_cast<long double>(x))), 1.2) << x;
    const double y = i % 2 == 0 ? any_size(random) : std::uniform_real_distribution<double>(0.5, 2)(random);
    if (y == 1) continue;
    ASSERT_LE(units(fixed_log(y), std::log(static_cast<long double>(y))), 1.2) << y;
  }
  EXPECT_EQ(fixed_exp(0), 1);
  EXPECT_EQ(fixed_exp(-kInfinity), 0);
  EXPECT_EQ(fixed_exp(710), kInfinity);
  EXPECT_EQ(fixed_log(1), 0);
  EXPECT_EQ(fixed_log(0), -kInfinity);
  EXPECT_EQ(fixed_log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(fixed_log(-1)));
}

TEST(RealFunctions, S7_Powers) {
  std::mt19937_64 random(seeds()[1]);
  for (int i = 0; i < 100'000; ++i) {
    const double y = std::uniform_real_distribution<double>(-4, 4)(random);
    const double x = i % 2 == 0 ? std::ldexp(std::uniform_real_distribution<double>(1, 2)(random),
                                             static_cast<int>(random() % 400) - 200)
                                : std::uniform_real_distribution<double>(0.5, 2)(random);
    ASSERT_LE(units(fixed_pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))), 0.65)
        << x << " ^ " << y;
  }
  EXPECT_EQ(fixed_pow(0, 0.5), 0);
  EXPECT_EQ(fixed_pow(0, -0.5), kInfinity);
  EXPECT_EQ(fixed_pow(kInfinity, 0.5), kInfinity);
  EXPECT_EQ(fixed_pow(5, 0), 1);
  EXPECT_EQ(fixed_pow(0x1p-1074, 0.5), 0x1p-537);
  EXPECT_TRUE(std::isnan(fixed_pow(-1, 0.5)));
  EXPECT_TRUE(std::isnan(fixed_pow(std::nan(""), 0.5)));
}

TEST(RealFunctions, S7_PowersAndRootsOfNorms) {
  EXPECT_EQ(norm_power(3, 5), 243);
  EXPECT_EQ(norm_power(2, 64), 0x1p64);
  EXPECT_EQ(norm_power(7, 1), 7);
  EXPECT_EQ(norm_power(7, 0), 1);
  EXPECT_EQ(norm_power(0, 3), 0);
  EXPECT_EQ(norm_power(4, 1.5), 8);
  EXPECT_EQ(norm_power(0.1, 3), 0.1 * (0.1 * 0.1));
  EXPECT_EQ(norm_root(81, 4), 3);
  EXPECT_EQ(norm_root(256, 8), 2);
  EXPECT_EQ(norm_root(65536, 16), 2);
  EXPECT_EQ(norm_root(2, 2), std::sqrt(2));
  for (int n = 0; n <= 1000; ++n) EXPECT_EQ(norm_root(n * n * n, 3), n);
  for (int n = 0; n <= 100; ++n) EXPECT_EQ(norm_root(norm_power(n, 7), 7), n);
  EXPECT_EQ(norm_root(5, 1e300), 1);
}

}  // namespace
}  // namespace oriel::test
