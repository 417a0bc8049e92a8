#include "oriel/problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "support.h"

namespace oriel {
namespace {

constexpr index_t kHuge = std::numeric_limits<index_t>::max();

std::string message(const Pool& pool, const Extents& shape, Dtype dtype = Dtype::f32) {
  return test::message([&] { make_problem(pool, dtype, shape); });
}

TEST(Problem, ResolvesAxes) {
  const Problem p =
      make_problem({.op = Op::max, .windows = {.kernel = {3}, .stride = {2}, .pad_lo = {1}, .axes = {2, 3}}},
                   Dtype::f32, {8, 64, 112, 90});
  EXPECT_EQ(p.pooled, 2);
  EXPECT_EQ(p.axes[0], 2);
  EXPECT_EQ(p.axes[1], 3);
  EXPECT_EQ(p.output_shape, (Extents{8, 64, 56, 45}));
  EXPECT_EQ(p.axis[1], Axis::uniform(90, 3, 2, 1, 1));
  EXPECT_EQ(p.taps(), 9);
}

TEST(Problem, DefaultAxes) {
  const Pool single{.windows = {.kernel = {3}}}, named{.windows = {.kernel = {3}, .axes = {-1, 0}}};
  for (int rank = 1; rank <= 8; ++rank) {
    Extents all;
    for (int a = 0; a < rank; ++a) all.push_back(a);
    EXPECT_EQ(pooled_axes(single, rank), all);
    const Problem p = make_problem({.op = Op::avg, .windows = {.kernel = {2}}}, Dtype::f32, Extents::filled(rank, 4));
    EXPECT_EQ(p.pooled, rank);
    EXPECT_EQ(p.output_shape, Extents::filled(rank, 2));  // 4x4x4 -> 2x2x2
    const Problem whole = make_problem({.windows = {.kind = WindowKind::global}}, Dtype::f32, Extents::filled(rank, 4));
    EXPECT_EQ(whole.output_shape, Extents::filled(rank, 1));
  }
  EXPECT_EQ(pooled_axes(named, 5), (Extents{4, 0}));
  EXPECT_EQ(make_problem({.windows = {.kernel = {2, 1, 4}}}, Dtype::f32, {4, 4, 4}).output_shape, (Extents{2, 4, 1}));
}

TEST(Problem, ListsOfFewerValuesThanAxesNeedNamedAxes) {
  EXPECT_EQ(message({.windows = {.kernel = {2, 2}}}, {60, 90, 3}),
            "max_pool: kernel must have 1 value or one per pooled axis (3), but has 2; no axes are named, so all 3 are "
            "pooled (axes -2, -1 are the last 2)");
  EXPECT_EQ(
      message({.op = Op::avg, .windows = {.kind = WindowKind::adaptive, .output_size = {7, 7}}}, {2, 3, 9, 9}),
      "avg_pool: output_size must have 1 value or one per pooled axis (4), but has 2; no axes are named, so all 4 "
      "are pooled (axes -2, -1 are the last 2)");
  EXPECT_EQ(message({.windows = {.kernel = {3}}}, {2, 64, 64}),
            "max_pool: the window must fit in the padded input, but on axis 0 it spans 3 and the padded input is 2; no "
            "axes are named, so all 3 are pooled");
}

TEST(Problem, AxesMayBeNegativeAndInAnyOrder) {
  const Problem p =
      make_problem({.op = Op::sum, .windows = {.kernel = {2, 3}, .axes = {-1, 0}}}, Dtype::f32, {7, 5, 9});
  EXPECT_EQ(p.axes[0], 2);
  EXPECT_EQ(p.axes[1], 0);
  EXPECT_EQ(p.output_shape, (Extents{2, 5, 4}));
}

TEST(Problem, S1_SamePadding) {
  const Pool upper{.windows = {.kernel = {2}, .stride = {2}, .padding = Padding::same_upper}};
  EXPECT_EQ(make_problem(upper, Dtype::f32, {5}).axis[0], Axis::uniform(5, 2, 2, 0, 1));
  Pool lower = upper;
  lower.windows.padding = Padding::same_lower;
  EXPECT_EQ(make_problem(lower, Dtype::f32, {5}).axis[0], Axis::uniform(5, 2, 2, 1, 0));
  const Pool dilated{.windows = {.kernel = {3}, .stride = {1}, .dilation = {2}, .padding = Padding::same_upper}};
  EXPECT_EQ(make_problem(dilated, Dtype::f32, {5}).axis[0], Axis::uniform(5, 3, 1, 2, 2, 2));
}

TEST(Problem, S11_EmptyBatch) {
  EXPECT_EQ(make_problem({.windows = {.kernel = {2}, .axes = {2}}}, Dtype::f32, {0, 3, 4}).output_shape,
            (Extents{0, 3, 2}));
}

TEST(Problem, EveryRefusalNamesTheValue) {
  EXPECT_EQ(message({.windows = {.kernel = {0}}}, {4}), "max_pool: kernel must be >= 1, but axis 0 has 0");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .stride = {1, 0}}}, {4, 4}),
            "max_pool: stride must be >= 1, but axis 1 has 0");
  EXPECT_EQ(message({.op = Op::avg, .windows = {.kernel = {2}, .pad_lo = {-1}}}, {4}),
            "avg_pool: padding must be >= 0, but axis 0 has -1");
  EXPECT_EQ(message({.op = Op::avg, .windows = {.kernel = {2}, .pad_hi = {-3}}}, {4}),
            "avg_pool: padding must be >= 0, but axis 0 has -3");
  EXPECT_EQ(message({.op = Op::min, .windows = {.kernel = {2}, .dilation = {0}}}, {4}),
            "min_pool: dilation must be >= 1, but axis 0 has 0");
  EXPECT_EQ(message({}, {4}), "max_pool: kernel must be given (1 value or one per pooled axis), but is empty");
  EXPECT_EQ(message({.windows = {.kernel = {2, 2}, .axes = {0}}}, {4, 4}),
            "max_pool: kernel must have 1 value or one per pooled axis (1), but has 2");
  EXPECT_EQ(message({.windows = {.kernel = {2, 2}, .stride = {1, 1, 1}}}, {4, 4, 4}),
            "max_pool: kernel must have 1 value or one per pooled axis (3), but has 2; no axes are named, so all 3 are "
            "pooled (axes -2, -1 are the last 2)");
  EXPECT_EQ(message({.windows = {.kernel = {2, 2}}}, {4}),
            "max_pool: kernel must have 1 value or one per pooled axis (1), but has 2");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .axes = {0, -2}}}, {4, 4}),
            "max_pool: axes must each be named once, but 0 is named twice");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .axes = {2}}}, {4, 4}),
            "max_pool: axes must be in -2 to 1, but one is 2");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .axes = {-3}}}, {4, 4}),
            "max_pool: axes must be in -2 to 1, but one is -3");
  EXPECT_EQ(message({.windows = {.kernel = {1}}}, {}), "max_pool: the input must have 1 to 16 axes, but has 0");
  EXPECT_EQ(message({.windows = {.kernel = {1}}}, Extents::filled(9, 1)),
            "max_pool: axes must be at most 8, but there are 9; no axes are named, so all 9 are pooled");
  EXPECT_EQ(message({.windows = {.kernel = {1}}}, {3, 3, 0}),
            "max_pool: pooled axes must have extent >= 1, but axis 2 has 0; no axes are named, so all 3 are pooled");
  EXPECT_EQ(message({.windows = {.kernel = {1}}}, {3, -3}), "max_pool: extents must be >= 0, but axis 1 has -3");
  EXPECT_EQ(message({.op = Op::sum, .windows = {.kernel = {3}, .pad_lo = {1}, .pad_hi = {0}, .dilation = {3}}}, {5}),
            "sum_pool: the window must fit in the padded input, but on axis 0 it spans 7 and the padded input is 6");
  EXPECT_EQ(message({.op = Op::lp, .windows = {.kernel = {1}}, .norm = 0.5}, {5}),
            "lp_pool: norm must be >= 1, but is 0.5");
  EXPECT_EQ(message({.op = Op::lp, .windows = {.kernel = {1}}, .norm = std::nan("")}, {5}),
            "lp_pool: norm must be >= 1, but is nan");
  EXPECT_EQ(message({.op = Op::avg, .windows = {.kernel = {1}}, .divisor = -1}, {5}),
            "avg_pool: divisor must be >= 1 (or 0 for none), but is -1");
}

TEST(Problem, OptionsThatDoNotApplyAreRefused) {
  const auto global = WindowKind::global, adaptive = WindowKind::adaptive;
  EXPECT_EQ(message({.windows = {.kernel = {1}}, .divisor = 3}, {5}),
            "max_pool: divisor is only for avg_pool, but is 3");
  EXPECT_EQ(message({.windows = {.kernel = {1}}, .count_include_pad = false}, {5}),
            "max_pool: count_include_pad is only for avg_pool, but is false");
  EXPECT_EQ(message({.op = Op::sum, .windows = {.kernel = {1}}, .norm = 3}, {5}),
            "sum_pool: norm is only for lp_pool, but is 3");
  EXPECT_EQ(message({.windows = {.kind = global, .kernel = {2}}}, {5}),
            "max_pool: kernel cannot be combined with a global window, but has the value 2");
  EXPECT_EQ(message({.windows = {.kind = adaptive, .stride = {2}, .output_size = {1}}}, {5}),
            "max_pool: stride cannot be combined with adaptive windows, but has the value 2");
  EXPECT_EQ(message({.windows = {.kind = global, .pad_lo = {2}}}, {5}),
            "max_pool: padding cannot be combined with a global window, but has the value 2");
  EXPECT_EQ(message({.windows = {.kind = global, .dilation = {2}}}, {5}),
            "max_pool: dilation cannot be combined with a global window, but has the value 2");
  EXPECT_EQ(message({.windows = {.kind = global, .output_size = {2}}}, {5}),
            "max_pool: output_size cannot be combined with a global window, but has the value 2");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .output_size = {2}}}, {5}),
            "max_pool: output_size cannot be combined with uniform windows, but has the value 2");
  EXPECT_EQ(message({.windows = {.kind = adaptive}}, {5}),
            "max_pool: output_size must be given (1 value or one per pooled axis), but is empty");
  EXPECT_EQ(message({.windows = {.kind = adaptive, .output_size = {0}}}, {5}),
            "max_pool: output_size must be >= 1, but axis 0 has 0");
  EXPECT_EQ(message({.windows = {.kind = global, .padding = Padding::same_upper}}, {5}),
            "max_pool: same padding cannot be combined with a global window");
  EXPECT_EQ(message({.windows = {.kind = adaptive, .output_size = {1}, .ceil_mode = true}}, {5}),
            "max_pool: ceil_mode cannot be combined with adaptive windows");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .padding = Padding::same_lower, .ceil_mode = true}}, {5}),
            "max_pool: ceil_mode cannot be combined with same padding");
  EXPECT_EQ(message({.windows = {.kernel = {2}, .pad_lo = {1}, .padding = Padding::same_lower}}, {5}),
            "max_pool: padding cannot be combined with same padding, but has the value 1");
}

TEST(Problem, S12_SizesThatOverflow) {
  EXPECT_EQ(message({.windows = {.kernel = {1}}}, {kHuge, 2}),
            "max_pool: the input must have at most 2^63 - 1 elements, but its shape is 9223372036854775807x2");
  EXPECT_EQ(message({.windows = {.kernel = {1}}}, {0, kHuge, kHuge}),
            "max_pool: the input must have at most 2^63 - 1 elements, but its shape is "
            "0x9223372036854775807x9223372036854775807");
  EXPECT_EQ(
      message({.windows = {.kernel = {2}, .pad_lo = {kHuge}}}, {4}),
      "max_pool: extent, padding, stride and window must stay below 2^63 together, but axis 0 has extent 4, padding "
      "9223372036854775807+9223372036854775807, stride 2, kernel 2, dilation 1");
  EXPECT_NE(message({.windows = {.kernel = {3}, .dilation = {kHuge}}}, {4}).find("must stay below 2^63"),
            std::string::npos);
  EXPECT_NE(message({.windows = {.kernel = {1}, .stride = {kHuge}}}, {4}).find("must stay below 2^63"),
            std::string::npos);
  EXPECT_NE(message({.windows = {.kernel = {2}, .stride = {kHuge}, .padding = Padding::same_upper}}, {4})
                .find("must stay below 2^63"),
            std::string::npos);
  EXPECT_EQ(message({.windows = {.kind = WindowKind::adaptive, .output_size = {kHuge, 2}}}, {4, 4}),
            "max_pool: the output must have at most 2^63 - 1 elements, but its shape is 9223372036854775807x2");
  const index_t large = index_t{1} << 40;
  EXPECT_EQ(message({.windows = {.kernel = {large}, .stride = {1}, .pad_lo = {large}}}, {1, 1}, Dtype::u8),
            "max_pool: a window must have at most 2^63 - 1 taps, but has more");
  EXPECT_EQ(message({.windows = {.kernel = {1}, .stride = {1}, .pad_lo = {large}}}, {1, 1}),
            "max_pool: the output must have at most 2^63 - 1 elements, but its shape is 2199023255553x2199023255553");
}

// Numbers of every magnitude: a problem or an Error, and S1's size by 128-bit arithmetic. Overflow would be seen by
// the undefined-behaviour sanitizer and by the comparison.
TEST(Problem, S12_RandomSizesOfEveryMagnitude) {
  __extension__ typedef __int128 wide;
  std::mt19937_64 random(4);
  const auto number = [&] { return static_cast<index_t>((random() >> 1) >> (random() % 63)); };
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    const index_t in = number(), kernel = number(), stride = number(), lo = number(), hi = number(),
                  dilation = number();
    Pool pool{
        .windows = {.kernel = {kernel}, .stride = {stride}, .pad_lo = {lo}, .pad_hi = {hi}, .dilation = {dilation}}};
    pool.windows.ceil_mode = random() % 2 == 0;
    Problem p;
    try {
      p = make_problem(pool, Dtype::u8, {in});
    } catch (const Error&) {
      continue;
    }
    ++accepted;
    const wide room = static_cast<wide>(in) + lo + hi - (static_cast<wide>(dilation) * (kernel - 1) + 1);
    wide out = (pool.windows.ceil_mode ? (room + stride - 1) / stride : room / stride) + 1;
    if (pool.windows.ceil_mode && (out - 1) * stride >= static_cast<wide>(in) + lo) --out;
    ASSERT_TRUE(room >= 0 && out == p.output_shape[0]) << to_string(p);
    const Axis& a = p.axis[0];
    for (index_t o : {index_t{0}, a.out / 2, a.out - 1}) {
      ASSERT_GE(a.taps(o).begin, 0);
      ASSERT_LE(a.taps(o).end, kernel);
      ASSERT_GE(a.divisor(o, true), a.divisor(o, false));
      ASSERT_LE(a.slice({o, a.out}).in, in);
      ASSERT_LE(a.adjoint().slice({0, 1}).in, a.out);
    }
    for (index_t input : {index_t{0}, in / 2, in - 1}) ASSERT_LE(a.feeds(input).end, a.out);
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace oriel
