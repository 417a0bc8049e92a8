// Options of pools over valid taps that an op, a dtype or a window does not have: one clear error each.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "oriel/pool.h"
#include "support.h"

namespace oriel::test {
namespace {

constexpr Op kLast = Op::soft;
const double kNan = std::nan("");

std::string function(Op op) { return std::string(name(op)) + "_pool"; }

// A pool of 2x2 with what its op cannot do without.
Pool pool_of(Op op) {
  Pool pool{.op = op, .windows = {.kernel = {2}}};
  if (op == Op::quantile) pool.q = {0.5};
  return pool;
}

std::string refusal(const Pool& pool, Dtype dtype = Dtype::f32, const Extents& shape = {4, 4}) {
  return message([&] { make_problem(pool, dtype, shape); });
}

// What an op does not have is refused by every op that does not have it, and by no other.
void expect_only(const std::string& text, const std::set<Op>& ops, const std::function<void(Pool&)>& give) {
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    const Op op = static_cast<Op>(i);
    Pool pool = pool_of(op);
    give(pool);
    EXPECT_EQ(refusal(pool), ops.contains(op) ? "(no error)" : function(op) + ": " + text);
  }
}

TEST(StatisticBadInput, OptionsThatAnOpDoesNotHave) {
  const std::set<Op> ranks = {Op::median, Op::quantile}, variances = {Op::var, Op::std};
  expect_only("q is only for quantile_pool, but is given", {Op::quantile}, [](Pool& p) { p.q = {0.25}; });
  expect_only("rank is only for quantile_pool, but is given", {Op::quantile}, [](Pool& p) {
    p.rank = 1;
    p.q.clear();
  });
  expect_only("method is only for median_pool and quantile_pool, but is given", ranks,
              [](Pool& p) { p.method = Quantile::higher; });
  expect_only("ties is only for mode_pool, but is given", {Op::mode}, [](Pool& p) { p.tie = Tie::first; });
  expect_only("ignore is only for mode_pool, but is given", {Op::mode}, [](Pool& p) { p.ignore = 0.0; });
  expect_only("ddof is only for var_pool and std_pool, but is given", variances, [](Pool& p) { p.ddof = 1; });
  expect_only("sharpness is only for lse_pool, but is given", {Op::lse}, [](Pool& p) { p.sharpness = 2; });
  expect_only("sum is only for lse_pool, but is given", {Op::lse}, [](Pool& p) { p.sum_of_exponentials = true; });
}

// What every op has.
TEST(StatisticBadInput, OptionsThatEveryOpHas) {
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    Pool pool = pool_of(static_cast<Op>(i));
    pool.footprint = {.shape = {2, 2}, .taps = {1, 0, 0, 1}};
    pool.nodata = 3.0;
    pool.min_count = 1;
    pool.min_fraction = 0.5;
    pool.result_dtype = Dtype::f64;
    pool.fill = 0.25;
    pool.nan = NanPolicy::omit;
    EXPECT_EQ(refusal(pool), "(no error)") << function(pool.op);
  }
}

TEST(StatisticBadInput, ValuesThatAnOptionCannotHave) {
  const auto refused = [](Op op, const std::function<void(Pool&)>& give, Dtype dtype = Dtype::f32) {
    Pool pool = pool_of(op);
    give(pool);
    return refusal(pool, dtype);
  };
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.q = {0.5, 1.5}; }), "quantile_pool: q must be in 0 to 1, but is 1.5");
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.q = {kNan}; }), "quantile_pool: q must be in 0 to 1, but is nan");
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.q.assign(5000, 0.5); }),
            "quantile_pool: q must have at most 4096 values, but has 5000");
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.q.clear(); }), "quantile_pool: q or rank must be given, one of them");
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.rank = 0; }), "quantile_pool: q or rank must be given, one of them");
  EXPECT_EQ(refused(Op::quantile,
                    [](Pool& p) {
                      p.q.clear();
                      p.rank = 0;
                      p.method = Quantile::linear;
                    }),
            "quantile_pool: method cannot be combined with rank");
  EXPECT_EQ(refused(Op::var, [](Pool& p) { p.ddof = -1; }), "var_pool: ddof must be >= 0, but is -1");
  EXPECT_EQ(refused(Op::var, [](Pool& p) { p.ddof = 4; }),
            "var_pool: ddof must be less than the 4 taps of a window, but is 4");
  EXPECT_EQ(refused(Op::lse, [](Pool& p) { p.sharpness = 0; }), "lse_pool: sharpness must be > 0 and finite, but is 0");
  EXPECT_EQ(refused(Op::lse, [](Pool& p) { p.sharpness = HUGE_VAL; }),
            "lse_pool: sharpness must be > 0 and finite, but is inf");
  EXPECT_EQ(refused(Op::max, [](Pool& p) { p.min_count = -1; }), "max_pool: min_count must be >= 0, but is -1");
  EXPECT_EQ(refused(Op::max, [](Pool& p) { p.min_count = 5; }),
            "max_pool: min_count must be at most the 4 taps of a window, but is 5");
  EXPECT_EQ(refused(Op::max, [](Pool& p) { p.min_fraction = 1.1; }),
            "max_pool: min_fraction must be in 0 to 1, but is 1.1");
  EXPECT_EQ(refused(Op::max, [](Pool& p) { p.min_fraction = kNan; }),
            "max_pool: min_fraction must be in 0 to 1, but is nan");
  // Numbers must be values of the dtype that they are compared with or stored in.
  EXPECT_EQ(refused(
                Op::max, [](Pool& p) { p.nodata = std::int64_t{256}; }, Dtype::u8),
            "max_pool: nodata must be a value of dtype u8, x's, but is 256");
  EXPECT_EQ(refused(
                Op::max, [](Pool& p) { p.nodata = kNan; }, Dtype::i32),
            "max_pool: nodata must be a value of dtype i32, x's, but is nan");
  EXPECT_EQ(refused(Op::max, [](Pool& p) { p.nodata = std::int64_t{16777217}; }),
            "max_pool: nodata must be a value of dtype f32, x's, but is 16777217");
  EXPECT_EQ(refused(
                Op::mode, [](Pool& p) { p.ignore = -1.0; }, Dtype::u64),
            "mode_pool: ignore must be a value of dtype u64, x's, but is -1");
  EXPECT_EQ(refused(
                Op::mode, [](Pool& p) { p.nodata = UINT64_MAX; }, Dtype::u64),
            "(no error)");
  EXPECT_EQ(refused(
                Op::mode, [](Pool& p) { p.nodata = 0x1p64; }, Dtype::u64),
            "mode_pool: nodata must be a value of dtype u64, x's, but is 1.8446744073709552e+19");
  EXPECT_EQ(refused(Op::count, [](Pool& p) { p.fill = 0.5; }),
            "count_pool: fill must be a value of dtype i64, the result's, but is 0.5");
  EXPECT_EQ(refused(Op::any, [](Pool& p) { p.fill = std::int64_t{2}; }),
            "any_pool: fill must be a value of dtype bool, the result's, but is 2");
}

TEST(StatisticBadInput, ResultsOfAnotherDtype) {
  const auto refused = [](Op op, Dtype from, Dtype into) {
    Pool pool = pool_of(op);
    pool.result_dtype = into;
    return refusal(pool, from);
  };
  const std::string own = " must be f64, f32 or the dtype that it has by default, but is ";
  EXPECT_EQ(refused(Op::max, Dtype::u8, Dtype::u16), "max_pool: dtype" + own + "u16");
  EXPECT_EQ(refused(Op::var, Dtype::f32, Dtype::f16), "var_pool: dtype" + own + "f16");
  EXPECT_EQ(refused(Op::any, Dtype::u8, Dtype::u8), "any_pool: dtype" + own + "u8");
  const std::string wide = " must be f64, f32, that of x or, for integers, i64, u64, i32 or u32, but is ";
  EXPECT_EQ(refused(Op::sum, Dtype::u8, Dtype::u16), "sum_pool: dtype" + wide + "u16");
  EXPECT_EQ(refused(Op::prod, Dtype::f32, Dtype::i64), "prod_pool: dtype" + wide + "i64");
  EXPECT_EQ(refused(Op::count, Dtype::f32, Dtype::boolean),
            "count_pool: dtype must be f64, f32 or an integer dtype, but is bool");
  EXPECT_EQ(refused(Op::range, Dtype::f32, Dtype::i32),
            "range_pool: dtype must be f64, f32, that of x or, for integers, an integer dtype, but is i32");
  Pool count{.op = Op::count, .windows = {.kernel = {16}}, .result_dtype = Dtype::i8};
  EXPECT_EQ(refusal(count, Dtype::f32, {16, 16}), "count_pool: dtype must hold the 256 taps of a window, but is i8");
  count.result_dtype = Dtype::u16;
  EXPECT_EQ(refusal(count, Dtype::f32, {16, 16}), "(no error)");
}

TEST(StatisticBadInput, FootprintsThatDoNotFit) {
  const auto refused = [](const Footprint& footprint, const Windows& windows) {
    return refusal({.op = Op::max, .windows = windows, .footprint = footprint});
  };
  const Windows two{.kernel = {2}};
  EXPECT_EQ(
      refused({.shape = {2}, .taps = {1, 1}}, two),
      "max_pool: footprint must have an axis for each of the 2 pooled ones, but has 1; no axes are named, so all 2 "
      "are pooled");
  EXPECT_EQ(refused({.shape = {2, 3}, .taps = {1, 1, 1, 1, 1, 1}}, two),
            "max_pool: footprint must have the shape of the kernel, but has 3 where the kernel has 2");
  EXPECT_EQ(refused({.shape = {2, 2}, .taps = {1, 1, 1}}, two), "max_pool: footprint must have 4 taps, but has 3");
  EXPECT_EQ(refused({.shape = {2, 2}, .taps = {0, 0, 0, 0}}, two),
            "max_pool: footprint must have a tap, but all are false");
  EXPECT_EQ(refused({.shape = {0, 2}, .taps = {1}}, {}),
            "max_pool: footprint must have extents >= 1, but axis 0 has 0");
  EXPECT_EQ(refused({.shape = {2, 2}}, two),
            "max_pool: footprint must have a shape and taps, but one of them is empty");
  EXPECT_EQ(refused({.shape = {4, 4}, .taps = std::vector<std::uint8_t>(16, 1)}, {.kind = WindowKind::global}),
            "max_pool: footprint cannot be combined with other windows");
}

TEST(StatisticBadInput, OptionsCountTheTapsOfTheFootprint) {
  const auto refused = [](Op op, const std::function<void(Pool&)>& give) {
    Pool pool{.op = op, .footprint = diamond(1)};
    give(pool);
    return refusal(pool);
  };
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.rank = 5; }), "quantile_pool: rank must be in -5 to 4, but is 5");
  EXPECT_EQ(refused(Op::quantile, [](Pool& p) { p.rank = -5; }), "(no error)");
  EXPECT_EQ(refused(Op::max, [](Pool& p) { p.min_count = 6; }),
            "max_pool: min_count must be at most the 5 taps of a window, but is 6");
  EXPECT_EQ(refused(Op::var, [](Pool& p) { p.ddof = 5; }),
            "var_pool: ddof must be less than the 5 taps of a window, but is 5");
}

TEST(StatisticBadInput, RanksNeedFullWindows) {
  const auto refused = [](
                           index_t rank, const std::function<void(Pool&)>& give = [](Pool&) {}) {
    Pool pool{.op = Op::quantile, .windows = {.kernel = {2}}, .rank = rank};
    give(pool);
    return refusal(pool);
  };
  EXPECT_EQ(refused(3), "(no error)");
  EXPECT_EQ(refused(-4), "(no error)");
  EXPECT_EQ(refused(4), "quantile_pool: rank must be in -4 to 3, but is 4");
  EXPECT_EQ(refused(-5), "quantile_pool: rank must be in -4 to 3, but is -5");
  EXPECT_EQ(refused(0, [](Pool& p) { p.windows.pad_lo = {1}; }),
            "quantile_pool: rank needs windows whose taps all exist; use q, but some reach beyond the input");
  EXPECT_EQ(refused(0, [](Pool& p) { p.nan = NanPolicy::omit; }),
            "quantile_pool: rank needs windows whose taps are all valid; use q, but some may be left out");
  EXPECT_EQ(refused(0, [](Pool& p) { p.nodata = 1.0; }),
            "quantile_pool: rank needs windows whose taps are all valid; use q, but some may be left out");
}

class StatisticBadOperands : public testing::Test {
 protected:
  // y has 4 elements; its memory has 16, as a mask and weights may be placed there.
  std::vector<float> x = std::vector<float>(16, 1), y = std::vector<float>(16, 7), dx = std::vector<float>(16, 7),
                     dy = std::vector<float>(4, 1);
  std::vector<std::uint8_t> mask = std::vector<std::uint8_t>(16, 1);
  std::vector<float> weights = std::vector<float>(16, 1);

  std::string call(
      Op op, const ConstTensor& m, const ConstTensor& w = {}, const std::function<void(Pool&)>& give = [](Pool&) {}) {
    Pool pool = pool_of(op);
    pool.result_dtype = Dtype::f32;
    give(pool);
    return message([&] {
      forward(pool, {.x = ConstTensor(x.data(), {4, 4}), .y = Tensor(y.data(), {2, 2}), .mask = m, .weights = w});
    });
  }
  std::string gradient(const Pool& pool, Dtype dtype = Dtype::f32) {
    return message([&] {
      backward(pool, {.x = ConstTensor(x.data(), dtype, {4, 4}),
                      .dy = ConstTensor(dy.data(), dtype, {2, 2}),
                      .dx = Tensor(dx.data(), dtype, {4, 4})});
    });
  }
  ConstTensor weight() const { return {weights.data(), {4, 4}}; }

  // A refused call has written nothing.
  void TearDown() override {
    EXPECT_EQ(y, std::vector<float>(16, 7));
    EXPECT_EQ(dx, std::vector<float>(16, 7));
  }
};

TEST_F(StatisticBadOperands, MasksOfAnotherShapeOrDtype) {
  EXPECT_EQ(call(Op::max, ConstTensor(weights.data(), {4, 4})),
            "max_pool: mask must have dtype bool or u8, but has f32");
  EXPECT_EQ(call(Op::max, ConstTensor(mask.data(), {16})), "max_pool: mask must have the rank of x, 2, but has 1");
  EXPECT_EQ(call(Op::max, ConstTensor(mask.data(), {4, 1})),
            "max_pool: mask must have 4 along axis 1, as x, but has 1");
  std::vector<float> rows(8, 0);
  EXPECT_EQ(message([&] {
              forward({.op = Op::max, .windows = {.kernel = {2}, .axes = {1}}},
                      {.x = ConstTensor(x.data(), {4, 4}),
                       .y = Tensor(rows.data(), {4, 2}),
                       .mask = ConstTensor(mask.data(), {2, 4})});
            }),
            "max_pool: mask must have 4 along axis 0, as x, but has 2; allowed is also 1");
  EXPECT_EQ(call(Op::quantile, ConstTensor(mask.data(), {4, 4}), {},
                 [](Pool& p) {
                   p.q.clear();
                   p.rank = 0;
                 }),
            "quantile_pool: rank needs windows whose taps are all valid; use q, but a mask is given");
}

TEST_F(StatisticBadOperands, WeightsThatAnOpDoesNotHave) {
  const std::set<Op> weighted = {Op::sum, Op::var, Op::std, Op::rms, Op::mode};
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    const Op op = static_cast<Op>(i);
    if (weighted.contains(op) || op == Op::avg) continue;
    EXPECT_EQ(call(op, {}, weight()),
              function(op) +
                  ": weights are for sum, avg, var, std, rms, mode, and median and quantile with method "
                  "inverted_cdf only, but op is " +
                  std::string(name(op)));
  }
  EXPECT_EQ(call(Op::avg, {}, weight(), [](Pool& p) { p.divisor = 3; }),
            "avg_pool: weights need no divisor, but it is 3");
  EXPECT_EQ(call(Op::avg, {}, weight(),
                 [](Pool& p) {
                   p.windows.pad_hi = {0, 1};
                 }),
            "avg_pool: weights need count_include_pad to be false if there is padding");
  EXPECT_EQ(call(Op::var, {}, weight(), [](Pool& p) { p.ddof = 1; }),
            "var_pool: weights need ddof to be 0, but it is 1");
  EXPECT_EQ(call(Op::sum, {}, ConstTensor(mask.data(), {4, 4})),
            "sum_pool: weights must have dtype f32 or f64, but has u8");
}

TEST_F(StatisticBadOperands, WeightsThatAreNoWeights) {
  weights[6] = static_cast<float>(kNan);
  EXPECT_EQ(call(Op::sum, {}, weight()), "sum_pool: weights must be finite, but that at (1, 2) is not");
  EXPECT_EQ(call(Op::mode, {}, weight()), "mode_pool: weights must be finite and >= 0, but that at (1, 2) is not");
  weights[6] = -1;
  const auto by_weight = [](Pool& p) { p.method = Quantile::inverted_cdf; };
  EXPECT_EQ(call(Op::median, {}, weight(), by_weight),
            "median_pool: weights must be finite and >= 0, but that at (1, 2) is not");
}

TEST_F(StatisticBadOperands, OutputsOverMasksAndWeights) {
  EXPECT_EQ(call(Op::max, ConstTensor(reinterpret_cast<const std::uint8_t*>(y.data()), {4, 4})),
            "max_pool: mask and y must not share memory, but they overlap");
  EXPECT_EQ(call(Op::sum, {}, ConstTensor(y.data(), {4, 4})),
            "sum_pool: weights and y must not share memory, but they overlap");
}

TEST_F(StatisticBadOperands, GradientsThatDoNotExist) {
  for (const Op op : {Op::count, Op::any, Op::all, Op::mode, Op::nunique})
    EXPECT_EQ(gradient(pool_of(op)),
              function(op) + " backward: a gradient of " + std::string(name(op)) + " does not exist");
  EXPECT_EQ(gradient(pool_of(Op::median), Dtype::i32),
            "median_pool backward: a gradient of median needs dtype f64, f32, f16 or bf16, but it is i32");
  const Pool median = pool_of(Op::median);
  EXPECT_EQ(message([&] {
              backward(median, {.dy = ConstTensor(dy.data(), {2, 2}), .dx = Tensor(dx.data(), {4, 4})});
            }),
            "median_pool backward: x must be given");
}

TEST_F(StatisticBadOperands, IndicesOfWhatIsNoTap) {
  std::vector<std::int64_t> indices(4, 0);
  const auto refused = [&](const Pool& pool) {
    return message([&] {
      forward(pool, {.x = ConstTensor(x.data(), {4, 4}),
                     .y = Tensor(y.data(), {2, 2}),
                     .indices = Tensor(indices.data(), {2, 2})});
    });
  };
  Pool median = pool_of(Op::median);
  median.method = Quantile::linear;
  for (const Pool& pool : {median, pool_of(Op::sum), pool_of(Op::range), pool_of(Op::var)}) {
    const std::string text = refused(pool);
    EXPECT_EQ(text.rfind(function(pool.op) + ": indices ", 0), 0U) << text;
  }
}

}  // namespace
}  // namespace oriel::test
