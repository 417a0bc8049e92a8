// Long windows over floats among which there are few NaN, many, or zeros of both signs: values are then folded without
// tap codes, and some results written afterwards.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "pool/conform.h"
#include "seeds.h"

namespace oriel::test {
namespace {

#ifdef ORIEL_SANITIZED  // which takes many times as long
constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f16};
constexpr const char* kOps[] = {"max"};
#else
constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16};
constexpr const char* kOps[] = {"max", "min"};
#endif

enum class Holding { one_nan, some_nan, many_nan, nan_and_zeros, one_zero, zeros, zeros_above, zeros_below };

constexpr Holding kHoldings[] = {Holding::one_nan,  Holding::some_nan, Holding::many_nan,    Holding::nan_and_zeros,
                                 Holding::one_zero, Holding::zeros,    Holding::zeros_above, Holding::zeros_below};

double draw(Holding holding, index_t i, index_t n, std::mt19937_64& random) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double number = static_cast<double>(static_cast<std::int64_t>(random() % 64) - 32) / 8;
  const double zero = random() % 2 == 0 ? 0.0 : -0.0;
  const std::uint64_t count = static_cast<std::uint64_t>(n);
  switch (holding) {
    case Holding::one_nan:
      return i == n * 3 / 4 ? nan : number;
    case Holding::some_nan:
      return random() % count < 5 ? nan : number;
    case Holding::many_nan:
      return random() % 7 == 0 ? nan : number;
    case Holding::nan_and_zeros:
      return random() % count < 3 ? nan : zero;
    case Holding::one_zero:
      return i == n / 3 ? -0.0 : number;
    case Holding::zeros:
      return zero;
    case Holding::zeros_above:  // the greatest, among negative numbers
      return random() % 9 == 0 ? zero : -1 - number * number;
    case Holding::zeros_below:
      return random() % 9 == 0 ? zero : 1 + number * number;
  }
  return number;
}

std::vector<std::byte> elements(Dtype dtype, index_t n, Holding holding, std::mt19937_64& random) {
  return visit(dtype, [&]<class T>() {
    std::vector<std::byte> out(static_cast<std::size_t>(n) * sizeof(T));
    for (index_t i = 0; i < n; ++i) {
      const double value = draw(holding, i, n, random);
      T element;
      if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
        element = T(static_cast<float>(value));
      else if constexpr (is_floating_v<T>)
        element = static_cast<T>(value);
      else
        element = T{};  // no problem here is of integers
      std::memcpy(out.data() + static_cast<std::size_t>(i) * sizeof(T), &element, sizeof(T));
    }
    return out;
  });
}

// Values alone: with indices every way carries codes.
std::string check_values(const Case& c, Layout in, Layout out, const Options& options) {
  const Placed x(c.problem.dtype, c.problem.shape, in, c.x.data(), c.problem.order);
  Placed y(c.problem.dtype, extents(c.y.shape), out, nullptr, c.problem.order);
  forward(c.problem.pool, {.x = x.view(), .y = y.view()}, options);
  return differs(c, "forward", c.y, y, in);
}

class Mend : public testing::TestWithParam<const char*> {};

TEST_P(Mend, S3_S4_AsTheReference) {
  std::mt19937_64 random(seeds()[0]);
  unsigned number = 0;
  for (Dtype dtype : kDtypes) {
    for (const char* op : kOps) {
      for (const char* policy : {"", ":omit"}) {
        Problem p = parse_problem(std::string(op) + ":f32:" + GetParam() + policy);
        p.dtype = p.result = dtype;
        for (Holding holding : kHoldings) {
          const Case c(p, elements(dtype, element_count(p.shape), holding, random), {});
          const Layout in = ++number % 2 == 0 ? Layout::dense : kWritableLayouts[number % 5];
          const std::string wrong =
              check_values(c, in, kWritableLayouts[number / 5 % 5], {.threads = number % 3 == 0 ? 3 : 1});
          ASSERT_TRUE(wrong.empty()) << wrong << ", holding " << static_cast<int>(holding);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Problems, Mend,
    testing::Values("200x20:k100x2s1", "200x20:k99x2s3x1", "200x18:k101x3s5x1", "200x20:k50x2s1d2x1",
                    "200x20:k101x3s1p50x1", "300x6:k150s1:axes0", "90x3:k80s1:axes0", "4x400:k2x200s1",
                    "4x400:k2x199s1x3", "20x200:k2x100s1", "190x30:out3x2", "131x37:out3x2", "256x16:k64x2s64x2",
                    "16x900:k16x300s16x300", "3x40x40:k20x20s20:axes1,2", "40x40x3:k20x20s20:axes0,1",
                    "2x150x3x8:k80x2s1:axes1,2", "64x12x5:k32x2s1:axes0,1", "3x120x10:k2x60x2s1",
                    "120x3x10:k70x2x2s3x1x1", "60x60:k40x3s25x1p10x1", "9x12:k3x3s1p1", "11x13:k5x5s2",
                    "2x40x70:k3x3s2:axes1,2", "30x66:k2x2s2", "33x65:k5x5s1d1x2", "700:k3s1p1", "3000:k700s1",
                    "2x3000:k701s3p350:axes1", "2x500:k90s7:axes1", "20x33x2:k3s1:axes0,1", "40x40:k4x4s4p2",
                    "12x10x40:k2x2s2:axes0,1", "2x19x12x16:k3x3s2p1:axes1,2", "14x9x70:k5x5s1p2:axes0,1",
                    "3x8x8x20:k2x2x2s2x1x2:axes0,1,2", "2x60x20:k9s2:axes1", "9x9x300:k4x4s3x2d2x1p2x1:axes0,1"));

}  // namespace
}  // namespace oriel::test
