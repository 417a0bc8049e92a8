// Rules S13 to S20 of docs/semantics.md, each by small examples worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pool/statistic_call.h"
#include "seeds.h"

namespace oriel::test {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Bytes = std::vector<std::uint8_t>;
using Shorts = std::vector<std::int8_t>;
using Labels = std::vector<std::uint32_t>;
using Places = std::vector<std::int64_t>;
using Bools = std::vector<bool8>;

const float kNan = std::nanf("");
const float kInfinity = HUGE_VALF;

Pool pool_of(Op op, index_t kernel, index_t stride = 0) {
  Pool pool{.op = op, .windows = {.kernel = {kernel}}};
  if (stride > 0) pool.windows.stride = {stride};
  return pool;
}

Pool with(Pool pool, auto... change) {
  (change(pool), ...);
  return pool;
}

auto nodata(Scalar value) {
  return [value](Pool& p) { p.nodata = value; };
}
auto omit() {
  return [](Pool& p) { p.nan = NanPolicy::omit; };
}
auto least(index_t count) {
  return [count](Pool& p) { p.min_count = count; };
}
auto into(Dtype dtype) {
  return [dtype](Pool& p) { p.result_dtype = dtype; };
}
auto method(Quantile m) {
  return [m](Pool& p) { p.method = m; };
}
auto at(std::vector<double> q) {
  return [q](Pool& p) { p.q = q; };
}

std::vector<int> truths(const Bools& values) {
  std::vector<int> out;
  for (const bool8 v : values) out.push_back(v.byte);
  return out;
}

TEST(StatisticRules, S13_MasksNodataAndWeights) {
  const Floats x{1, 100, 3, 5};
  EXPECT_EQ(pooled<float>(pool_of(Op::avg, 4), x, {4}, {1, 0, 7, 255}), (Floats{3}));
  EXPECT_EQ(pooled<float>(pool_of(Op::max, 4), x, {4}, {1, 0, 1, 1}), (Floats{5}));
  EXPECT_EQ(pooled<float>(with(pool_of(Op::sum, 4), nodata(100.0)), x, {4}), (Floats{9}));
  EXPECT_EQ(pooled<std::int64_t>(pool_of(Op::count, 2), x, {4}, {1, 0, 0, 0}), (Places{1, 0}));
  // A NaN that counts makes the result NaN; one that is masked, left out or no data does not.
  const Floats some{kNan, 3, kNan, kNan};
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::median, 2), some, {4}), Floats{kNan, kNan}));
  EXPECT_TRUE(same(pooled<float>(with(pool_of(Op::median, 2), omit()), some, {4}), Floats{3, kNan}));
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::median, 2), some, {4}, {0, 1, 1, 1}), Floats{3, kNan}));
  EXPECT_TRUE(same(pooled<float>(with(pool_of(Op::sum, 2), nodata(std::nan(""))), some, {4}), Floats{3, 0}));
  // Infinities may be no data.
  EXPECT_EQ(pooled<float>(with(pool_of(Op::avg, 3), nodata(HUGE_VAL)), Floats{2, kInfinity, 4}, {3}), (Floats{3}));
  // Weighted: sums, averages, and no tap with weight 0.
  const Pool mean = with(pool_of(Op::avg, 3), [](Pool& p) { p.count_include_pad = false; });
  EXPECT_EQ(pooled<float>(mean, Floats{1, 2, 6}, {3}, {}, {1, 2, 1}), (Floats{2.75F}));
  EXPECT_EQ(pooled<float>(mean, Floats{1, kNan, 6}, {3}, {}, {1, 0, 4}), (Floats{5}));
  EXPECT_EQ(pooled<float>(pool_of(Op::sum, 3), Floats{1, 2, 6}, {3}, {}, {1, 2, -1}), (Floats{-1}));
  EXPECT_EQ(pooled<float>(pool_of(Op::var, 2), Floats{1, 5}, {2}, {}, {3, 1}), (Floats{3}));
  const Pool median = with(pool_of(Op::median, 4), method(Quantile::inverted_cdf));
  EXPECT_EQ(pooled<float>(median, Floats{10, 20, 30, 40}, {4}, {}, {1, 1, 1, 5}), (Floats{40}));
}

TEST(StatisticRules, S13_TheDivisorLosesTapsThatAreNotValid) {
  const Pool padded{.op = Op::avg, .windows = {.kernel = {3}, .stride = {1}, .pad_lo = {1}}};
  const Pool inside = with(padded, [](Pool& p) { p.count_include_pad = false; });
  const Floats x{4, 9, 2};
  EXPECT_EQ(pooled<float>(padded, x, {3}, {1, 0, 1}), (Floats{2, 3, 1}));  // (0 + 4) / 2, (4 + 2) / 2, (2 + 0) / 2
  EXPECT_EQ(pooled<float>(inside, x, {3}, {1, 0, 1}), (Floats{4, 3, 2}));
}

TEST(StatisticRules, S13_AMaskMayBeSharedByChannels) {
  const Floats x{1, 2, 3, 4, 10, 20, 30, 40};  // [2][4]
  const Bytes mask{1, 0, 1, 1};
  Floats y(4);
  const Pool pool{.op = Op::sum, .windows = {.kernel = {2}, .axes = {1}}};
  forward(
      pool,
      {.x = ConstTensor(x.data(), {2, 4}), .y = Tensor(y.data(), {2, 2}), .mask = ConstTensor(mask.data(), {1, 4})});
  EXPECT_EQ(y, (Floats{1, 7, 10, 70}));
  const Floats weights{1, 2, 0, 1};
  forward(pool, {.x = ConstTensor(x.data(), {2, 4}),
                 .y = Tensor(y.data(), {2, 2}),
                 .weights = ConstTensor(weights.data(), {1, 4})});
  EXPECT_EQ(y, (Floats{5, 4, 50, 40}));
}

TEST(StatisticRules, S14_TooFewValidTaps) {
  const Bytes x{0, 5, 7, 0};
  const Pool median = with(pool_of(Op::median, 4), nodata(std::int64_t{0}));
  EXPECT_EQ(pooled<std::uint8_t>(median, x, {4}), (Bytes{5}));
  EXPECT_EQ(pooled<std::uint8_t>(with(median, least(3)), x, {4}), (Bytes{0}));
  EXPECT_EQ(pooled<std::uint8_t>(with(median, least(3), [](Pool& p) { p.fill = std::uint64_t{9}; }), x, {4}),
            (Bytes{9}));
  EXPECT_EQ(chosen(with(median, least(3)), x, {4}), (Places{-1}));
  // A share of the taps that exist: at the border there are two of three.
  const auto share = [](double p) { return [p](Pool& pool) { pool.min_fraction = p; }; };
  const Pool sum = with(Pool{.op = Op::sum, .windows = {.kernel = {3}, .stride = {1}, .pad_lo = {1}}}, omit());
  const Floats some{1, kNan, 4};
  EXPECT_EQ(pooled<float>(sum, some, {3}), (Floats{1, 5, 4}));
  EXPECT_TRUE(same(pooled<float>(with(sum, share(0.6)), some, {3}), Floats{kNan, 5, kNan}));
  EXPECT_TRUE(same(pooled<float>(with(sum, share(0.5)), some, {3}), Floats{1, 5, 4}));
  EXPECT_TRUE(same(pooled<float>(with(sum, share(1)), some, {3}), Floats{kNan, kNan, kNan}));
  // Variances need ddof + 1.
  const Pool std = with(pool_of(Op::std, 2), omit(), [](Pool& p) { p.ddof = 1; });
  EXPECT_TRUE(same(pooled<float>(std, Floats{5, kNan, 1, 3}, {4}), Floats{kNan, std::sqrt(2.0F)}));
}

TEST(StatisticRules, S14_WithoutAnyValidTap) {
  const Floats x{1, 2};
  const Bytes none{0, 0};
  const auto result = [&](Op op) { return pooled<float>(with(pool_of(op, 2), into(Dtype::f32)), x, {2}, none); };
  EXPECT_EQ(result(Op::max), (Floats{-kInfinity}));  // S6
  EXPECT_EQ(result(Op::min), (Floats{kInfinity}));
  for (const Op op : {Op::sum, Op::avg, Op::lp, Op::count, Op::any}) EXPECT_EQ(result(op), (Floats{0})) << name(op);
  for (const Op op : {Op::all, Op::prod}) EXPECT_EQ(result(op), (Floats{1})) << name(op);
  for (const Op op : {Op::median, Op::mode, Op::first, Op::centre, Op::range, Op::midrange, Op::rms, Op::geo, Op::harm,
                      Op::lse, Op::soft, Op::nunique, Op::var, Op::std})
    EXPECT_TRUE(same(result(op), Floats{kNan})) << name(op);
  EXPECT_EQ(pooled<std::int64_t>(pool_of(Op::nunique, 2), x, {2}, none), (Places{0}));
  EXPECT_EQ(pooled<std::uint8_t>(pool_of(Op::mode, 2), Bytes{1, 2}, {2}, none), (Bytes{0}));
  EXPECT_EQ(pooled<std::uint8_t>(pool_of(Op::max, 2), Bytes{1, 2}, {2}, none), (Bytes{0}));
  EXPECT_EQ(truths(pooled<bool8>(pool_of(Op::all, 2), x, {2}, none)), (std::vector<int>{1}));
}

TEST(StatisticRules, S15_ResultTypes) {
  const auto dtype = [](Op op, Dtype of) { return result_dtype(pool_of(op, 2), of); };
  for (const Op op : {Op::max, Op::min, Op::sum, Op::avg, Op::lp, Op::range, Op::midrange, Op::median, Op::mode,
                      Op::first, Op::centre})
    EXPECT_EQ(dtype(op, Dtype::u16), Dtype::u16) << name(op);
  for (const Op op : {Op::any, Op::all}) EXPECT_EQ(dtype(op, Dtype::f32), Dtype::boolean) << name(op);
  for (const Op op : {Op::count, Op::nunique}) EXPECT_EQ(dtype(op, Dtype::f16), Dtype::i64) << name(op);
  for (const Op op : {Op::var, Op::std, Op::rms, Op::geo, Op::harm, Op::lse, Op::soft}) {
    EXPECT_EQ(dtype(op, Dtype::f16), Dtype::f16) << name(op);
    EXPECT_EQ(dtype(op, Dtype::i32), Dtype::f64) << name(op);
  }
  EXPECT_EQ(dtype(Op::prod, Dtype::u8), Dtype::u64);
  EXPECT_EQ(dtype(Op::prod, Dtype::i8), Dtype::i64);
  EXPECT_EQ(dtype(Op::prod, Dtype::bf16), Dtype::bf16);

  EXPECT_EQ(pooled<double>(with(pool_of(Op::avg, 2), into(Dtype::f64)), Bytes{1, 2, 255, 254}, {4}),
            (Doubles{1.5, 254.5}));
  EXPECT_EQ(pooled<std::uint64_t>(with(pool_of(Op::sum, 4), into(Dtype::u64)), Bytes{255, 255, 255, 255}, {4}),
            (std::vector<std::uint64_t>{1020}));
  EXPECT_EQ(pooled<std::int8_t>(pool_of(Op::range, 2), Shorts{-100, 100}, {2}), (Shorts{127}));
  EXPECT_EQ(pooled<std::int32_t>(with(pool_of(Op::range, 2), into(Dtype::i32)), Shorts{-100, 100}, {2}),
            (std::vector<std::int32_t>{200}));
  // The exact sum is rounded once: neither number nor their sum modulo 2^64 is a double.
  const Places huge{INT64_MAX, INT64_MAX};
  EXPECT_EQ(pooled<double>(with(pool_of(Op::sum, 2), into(Dtype::f64)), huge, {2}), (Doubles{0x1p64}));
  EXPECT_EQ(pooled<float>(with(pool_of(Op::avg, 2), into(Dtype::f32)), huge, {2}), (Floats{0x1p63F}));
  const Places odd{(std::int64_t{1} << 53) + 1, 0};  // half-way between two floats only if a double came first
  EXPECT_EQ(pooled<float>(with(pool_of(Op::sum, 2), into(Dtype::f32)), Places{(std::int64_t{1} << 24) + 1, 0}, {2}),
            (Floats{0x1p24F}));
  EXPECT_EQ(pooled<double>(with(pool_of(Op::sum, 2), into(Dtype::f64)), odd, {2}), (Doubles{0x1p53}));
  EXPECT_EQ(pooled<std::int32_t>(with(pool_of(Op::sum, 2), into(Dtype::i32)), Places{INT32_MAX, 5}, {2}),
            (std::vector<std::int32_t>{INT32_MAX}));
  EXPECT_EQ(pooled<std::int64_t>(pool_of(Op::prod, 3), Shorts{-128, 127, 2}, {3}), (Places{-32512}));
}

TEST(StatisticRules, S16_Quantiles) {
  const Floats four{4, 3, 1, 2}, five{1, 2, 3, 4, 10};
  const Pool median = pool_of(Op::median, 4);
  EXPECT_EQ(pooled<float>(median, four, {4}), (Floats{2}));
  EXPECT_EQ(pooled<float>(with(median, method(Quantile::higher)), four, {4}), (Floats{3}));
  EXPECT_EQ(pooled<float>(with(median, method(Quantile::midpoint)), four, {4}), (Floats{2.5F}));
  const Pool q90 = with(pool_of(Op::quantile, 5), at({0.9}));
  const std::pair<Quantile, float> expected[] = {
      {Quantile::lower, 4.0F},  {Quantile::higher, 10.0F},       {Quantile::nearest, 10.0F}, {Quantile::midpoint, 7.0F},
      {Quantile::linear, 7.6F}, {Quantile::inverted_cdf, 10.0F}, {Quantile::scipy, 10.0F}};
  for (const auto& [m, value] : expected)
    EXPECT_EQ(pooled<float>(with(q90, method(m)), five, {5}), (Floats{value})) << static_cast<int>(m);
  // Several share a first axis.
  const Pool several = with(pool_of(Op::quantile, 5), at({0.25, 0.75, 0}));
  EXPECT_EQ(output_shape(several, {10}), (Extents{3, 2}));
  Floats ten = five;
  ten.insert(ten.end(), five.begin(), five.end());
  ten[9] = -1;
  EXPECT_EQ(pooled<float>(several, ten, {10}), (Floats{2, 1, 4, 3, 1, -1}));
  // Ranks count from either end.
  const auto rank = [](index_t r) { return [r](Pool& p) { p.rank = r; }; };
  EXPECT_EQ(pooled<float>(with(pool_of(Op::quantile, 5), rank(1)), five, {5}), (Floats{2}));
  EXPECT_EQ(pooled<float>(with(pool_of(Op::quantile, 5), rank(-1)), five, {5}), (Floats{10}));
  // -0 comes before +0; the index is that of the first tap with the bits.
  const Floats zeros{0.0F, -0.0F, 0.0F, -0.0F};
  EXPECT_TRUE(same(pooled<float>(with(pool_of(Op::quantile, 4), at({0, 1})), zeros, {4}), Floats{-0.0F, 0.0F}));
  EXPECT_EQ(chosen(with(pool_of(Op::quantile, 4), at({0, 1})), zeros, {4}), (Places{1, 0}));
  EXPECT_EQ(chosen(pool_of(Op::median, 2), Floats{5, 5, 7, 6}, {4}), (Places{0, 3}));
  EXPECT_EQ(chosen(pool_of(Op::median, 2), Floats{5, 5, 7, 6}, {4}, {0, 1, 1, 1}), (Places{1, 3}));
  // Means of integers are exact, a half goes to the even one.
  const Pool mean = with(pool_of(Op::median, 2), method(Quantile::midpoint));
  EXPECT_EQ(pooled<std::uint8_t>(mean, Bytes{1, 2, 2, 3, 255, 254}, {6}), (Bytes{2, 2, 254}));
  EXPECT_EQ(pooled<std::int64_t>(mean, Places{INT64_MAX, INT64_MAX - 2, INT64_MIN, INT64_MIN + 2}, {4}),
            (Places{INT64_MAX - 1, INT64_MIN + 1}));
  // Gradients.
  EXPECT_EQ(slopes<float>(median, four, {8}, {4}), (Floats{0, 0, 0, 8}));
  EXPECT_EQ(slopes<float>(with(median, method(Quantile::midpoint)), four, {8}, {4}), (Floats{0, 4, 0, 4}));
  EXPECT_EQ(slopes<float>(with(pool_of(Op::quantile, 4), at({0.25}), method(Quantile::linear)), four, {8}, {4}),
            (Floats{0, 0, 2, 6}));  // h = 0.75
}

// As NumPy describes its methods, of sorted numbers.
double by_numpy(const Doubles& v, double q, Quantile method) {
  const double n = static_cast<double>(v.size()), virtual_index = (n - 1) * q;
  const auto value = [&](double index) { return v[static_cast<std::size_t>(std::clamp(index, 0.0, n - 1))]; };
  const double below = value(std::floor(virtual_index)), above = value(std::ceil(virtual_index));
  switch (method) {
    case Quantile::lower:
      return below;
    case Quantile::higher:
      return above;
    case Quantile::nearest:
      return value(std::nearbyint(virtual_index));
    case Quantile::midpoint:
      return 0.5 * (below + above);
    case Quantile::linear:
      return below + (above - below) * (virtual_index - std::floor(virtual_index));
    case Quantile::inverted_cdf:
      return value(std::ceil(n * q) - 1);
    default:
      return value(std::floor(n * q));
  }
}

TEST(StatisticRules, S16_Methods) {
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int round = 0; round < 2000; ++round) {
      const auto n = 1 + random() % 12;
      Doubles x;
      for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<double>(random() % 9) - 4);
      Doubles sorted = x;
      std::sort(sorted.begin(), sorted.end());
      const double places[] = {0, 1, 0.5, 0.25, 0.9, 1.0 / 3, static_cast<double>(random() >> 11) * 0x1p-53};
      const double q = places[random() % 7];
      for (int m = 0; m < 7; ++m) {
        const auto of = static_cast<Quantile>(m);
        const Pool pool = with(pool_of(Op::quantile, static_cast<index_t>(n)), at({q}), method(of));
        EXPECT_DOUBLE_EQ(pooled<double>(pool, x, {static_cast<index_t>(n)})[0], by_numpy(sorted, q, of))
            << "q " << q << " of " << n << ", method " << m << ", seed " << seed;
      }
    }
  }
}

TEST(StatisticRules, S17_Modes) {
  const Labels x{7, 3, 3, 7};
  const auto ties = [](Tie tie) { return [tie](Pool& p) { p.tie = tie; }; };
  const auto ignore = [](index_t v) { return [v](Pool& p) { p.ignore = std::int64_t{v}; }; };
  const Pool mode = pool_of(Op::mode, 4), eight = pool_of(Op::mode, 8);
  EXPECT_EQ(pooled<std::uint32_t>(mode, x, {4}), (Labels{3}));
  EXPECT_EQ(pooled<std::uint32_t>(with(mode, ties(Tie::first)), x, {4}), (Labels{7}));
  EXPECT_EQ(pooled<std::uint32_t>(with(mode, ties(Tie::highest)), x, {4}), (Labels{7}));
  EXPECT_EQ(chosen(mode, x, {4}), (Places{1}));
  const Labels background{0, 0, 0, 0, 0, 0, 9, 9}, zeros(8, 0);
  EXPECT_EQ(pooled<std::uint32_t>(eight, background, {8}), (Labels{0}));
  EXPECT_EQ(pooled<std::uint32_t>(with(eight, ignore(0)), background, {8}), (Labels{9}));
  EXPECT_EQ(pooled<std::uint32_t>(with(eight, ignore(0)), zeros, {8}), (Labels{0}));
  const auto with_fill = [](Pool& p) { p.fill = std::int64_t{5}; };
  EXPECT_EQ(pooled<std::uint32_t>(with(eight, nodata(std::int64_t{0}), with_fill), zeros, {8}), (Labels{5}));
  EXPECT_EQ(truths(pooled<bool8>(pool_of(Op::mode, 2), Bools{bool8(true), bool8(false)}, {2})), (std::vector<int>{0}));
  // Zeros are one value, and the result is +0; the votes of weights; -1 is below 1.
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::mode, 3), Floats{-0.0F, 5, 0.0F}, {3}), Floats{0.0F}));
  EXPECT_EQ(pooled<float>(pool_of(Op::mode, 2), Floats{1, -1}, {2}), (Floats{-1}));
  EXPECT_EQ(pooled<std::uint32_t>(mode, x, {4}, {}, {1, 1, 1, 1.5}), (Labels{7}));
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::mode, 3), Floats{2, 2, kNan}, {3}), Floats{kNan}));
  EXPECT_EQ(pooled<std::int64_t>(pool_of(Op::nunique, 4), x, {4}), (Places{2}));
  EXPECT_EQ(pooled<std::int64_t>(pool_of(Op::nunique, 5), Floats{kNan, -0.0F, 0.0F, -kNan, 1}, {5}), (Places{3}));
}

TEST(StatisticRules, S18_Variances) {
  const auto ddof = [](int d) { return [d](Pool& p) { p.ddof = d; }; };
  const Bytes bytes{200, 201, 203, 204};
  EXPECT_EQ(pooled<double>(pool_of(Op::var, 4), bytes, {4}), (Doubles{2.5}));
  EXPECT_EQ(pooled<double>(with(pool_of(Op::var, 4), ddof(1)), bytes, {4}), (Doubles{3.3333333333333335}));
  const Pool border{.op = Op::var, .windows = {.kernel = {3}, .stride = {1}, .pad_lo = {1}}};
  EXPECT_EQ(pooled<float>(border, Floats{1, 2, 4}, {3}), (Floats{0.25F, 1.5555556F, 1}));
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::var, 1), Floats{kInfinity, 3}, {2}), Floats{kNan, 0}));
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::std, 2), Floats{5, kInfinity}, {2}), Floats{kNan}));
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::var, 1), Floats{kNan}, {1}), Floats{kNan}));
  // Far from zero nothing is lost, and nothing is negative.
  Floats far;
  long double mean = 0, squares = 0;
  for (int i = 0; i < 256; ++i) {
    far.push_back(1e5F + static_cast<float>((i * 37) % 101) / 64);
    mean += static_cast<long double>(far.back()) / 256;
  }
  for (const float v : far) squares += (v - mean) * (v - mean);
  EXPECT_FLOAT_EQ(pooled<float>(pool_of(Op::var, 256), far, {256})[0], static_cast<float>(squares / 256));
  // 32-bit integers are exact: the squares' sum has 65 bits.
  const Labels wide{4294967295U, 4294967293U};
  EXPECT_EQ(pooled<double>(pool_of(Op::var, 2), wide, {2}), (Doubles{1}));
  EXPECT_EQ(slopes<float>(pool_of(Op::var, 2), {1, 5}, {3}, {2}), (Floats{-6, 6}));
  EXPECT_EQ(slopes<float>(pool_of(Op::std, 2), {1, 5, 2, 2}, {3, 3}, {4}), (Floats{-1.5F, 1.5F, 0, 0}));
}

TEST(StatisticRules, S19_OtherOperations) {
  const Floats x{1, 2, 4};
  const auto value = [&](Op op) { return pooled<float>(with(pool_of(op, 3), into(Dtype::f32)), x, {3})[0]; };
  EXPECT_EQ(value(Op::count), 3);
  EXPECT_EQ(value(Op::range), 3);
  EXPECT_EQ(value(Op::midrange), 2.5F);
  EXPECT_FLOAT_EQ(value(Op::rms), std::sqrt(7.0F));
  EXPECT_EQ(value(Op::prod), 8);
  EXPECT_FLOAT_EQ(value(Op::geo), 2);
  EXPECT_FLOAT_EQ(value(Op::harm), 12.0F / 7);
  EXPECT_EQ(value(Op::first), 1);
  EXPECT_EQ(value(Op::centre), 2);
  EXPECT_EQ(pooled<std::int64_t>(with(pool_of(Op::count, 2), omit()), Floats{kNan, 3, kNan, kNan}, {4}),
            (Places{1, 0}));
  EXPECT_EQ(truths(pooled<bool8>(pool_of(Op::any, 2), Floats{0, 0, 0, 2, kNan, 0}, {6})), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(truths(pooled<bool8>(pool_of(Op::all, 2), Floats{0, 1, 3, 2, kNan, 1}, {6})), (std::vector<int>{0, 1, 1}));
  EXPECT_DOUBLE_EQ(pooled<double>(pool_of(Op::soft, 2), Doubles{0, 1}, {2})[0], 0.7310585786300049);
  EXPECT_DOUBLE_EQ(pooled<double>(pool_of(Op::lse, 2), Doubles{0, 1}, {2})[0], 0.6201145069582775);
  const auto sharp = [](Pool& p) {
    p.sharpness = 2;
    p.sum_of_exponentials = true;
  };
  EXPECT_DOUBLE_EQ(pooled<double>(with(pool_of(Op::lse, 2), sharp), Doubles{0, 1}, {2})[0],
                   std::log(1 + std::exp(2)) / 2);
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::geo, 2), Floats{0, 5, -1, 4}, {4}), Floats{0, kNan}));
  // Only the tap that is chosen matters.
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::first, 2), Floats{1, kNan, kNan, 1}, {4}), Floats{1, kNan}));
  EXPECT_EQ(pooled<float>(pool_of(Op::first, 3), x, {3}, {0, 1, 1}), (Floats{2}));
  EXPECT_TRUE(same(pooled<float>(pool_of(Op::centre, 3), x, {3}, {1, 0, 1}), Floats{kNan}));
  EXPECT_EQ(chosen(pool_of(Op::centre, 2), Floats{1, 2, 3, 4}, {2, 2}), (Places{0}));
  EXPECT_EQ(slopes<float>(pool_of(Op::range, 3), {1, 5, 3}, {2}, {3}), (Floats{-2, 2, 0}));
  EXPECT_EQ(slopes<float>(pool_of(Op::midrange, 3), {1, 5, 3}, {2}, {3}), (Floats{1, 1, 0}));
  EXPECT_EQ(slopes<float>(pool_of(Op::prod, 3), {2, 0, 3}, {2}, {3}), (Floats{0, 12, 0}));
  EXPECT_EQ(slopes<float>(pool_of(Op::prod, 3), {2, 0, 0}, {2}, {3}), (Floats{0, 0, 0}));
  EXPECT_EQ(slopes<double>(pool_of(Op::soft, 2), {1, 1}, {3}, {2}), (Doubles{1.5, 1.5}));
}

TEST(StatisticRules, S20_Footprints) {
  Bytes impulse(16, 0), expected(16, 0);
  impulse[5] = 9;
  for (const std::size_t place : {1U, 4U, 5U, 6U, 9U}) expected[place] = 9;
  const Pool cross{.op = Op::max, .windows = {.kernel = {3}, .stride = {1}, .pad_lo = {1}}, .footprint = diamond(1)};
  EXPECT_EQ(pooled<std::uint8_t>(cross, impulse, {4, 4}), expected);
  const Floats x{7, 1, 7, 1, 6, 1, 7, 1, 7};
  const auto of = [](Op op) { return Pool{.op = op, .footprint = diamond(1)}; };  // the kernel is the footprint's box
  EXPECT_EQ(pooled<float>(of(Op::avg), x, {3, 3}), (Floats{2}));
  EXPECT_EQ(pooled<std::int64_t>(of(Op::count), x, {3, 3}), (Places{5}));
  EXPECT_EQ(chosen(of(Op::median), x, {3, 3}), (Places{1}));
  EXPECT_EQ(chosen(of(Op::max), x, {3, 3}, {}, IndexSpace::window), (Places{4}));
  // No padding counts where the footprint has no tap: 2 of the 5 taps of the corner are padding.
  const Pool padded{
      .op = Op::avg, .windows = {.kernel = {3}, .stride = {3}, .pad_lo = {1}, .pad_hi = {0}}, .footprint = diamond(1)};
  EXPECT_EQ(pooled<float>(padded, Floats{5, 10, 10, 3}, {2, 2}), (Floats{5}));
}

TEST(StatisticRules, S1_TheShapeOfAResultDependsOnNoDtype) {
  EXPECT_EQ(output_shape(with(pool_of(Op::sum, 2), into(Dtype::u64)), {4}), (Extents{2}));
  EXPECT_EQ(output_shape(with(pool_of(Op::mode, 2), nodata(std::int64_t{16777217})), {4}), (Extents{2}));
}

}  // namespace
}  // namespace oriel::test
