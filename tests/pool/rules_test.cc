// The rules of docs/semantics.md, each by a small example worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "oriel/pool.h"

namespace oriel::test {
namespace {

const double kNan = std::nan("");
const float kInfinity = HUGE_VALF;

template <class T>
std::vector<T> run(const Pool& pool, const std::vector<T>& x, const Extents& shape) {
  const Extents out = output_shape(pool, shape);
  std::vector<T> y(static_cast<std::size_t>(element_count(out)));
  forward(pool, {.x = ConstTensor(x.data(), shape), .y = Tensor(y.data(), out)});
  return y;
}

template <class T>
std::vector<std::int64_t> places(const Pool& pool, const std::vector<T>& x, const Extents& shape, IndexSpace space) {
  const Extents out = output_shape(pool, shape);
  std::vector<T> y(static_cast<std::size_t>(element_count(out)));
  std::vector<std::int64_t> indices(y.size());
  forward(pool, {.x = ConstTensor(x.data(), shape),
                 .y = Tensor(y.data(), out),
                 .indices = Tensor(indices.data(), out),
                 .space = space});
  return indices;
}

template <class T>
std::vector<T> gradient(const Pool& pool, const std::vector<T>& x, const std::vector<T>& dy, const Extents& shape) {
  std::vector<T> dx(x.size(), T(77));
  backward(pool, {.x = ConstTensor(x.data(), shape),
                  .dy = ConstTensor(dy.data(), output_shape(pool, shape)),
                  .dx = Tensor(dx.data(), shape)});
  return dx;
}

using Floats = std::vector<float>;
using Places = std::vector<std::int64_t>;

TEST(Rules, S1_size) {
  EXPECT_EQ(output_shape({.windows = {.kernel = {3}, .stride = {2}, .pad_lo = {1}, .axes = {2, 3}}}, {8, 64, 112, 112}),
            (Extents{8, 64, 56, 56}));
  EXPECT_EQ(output_shape({.windows = {.kernel = {2}, .stride = {2}}}, {5}), (Extents{2}));
  EXPECT_EQ(output_shape({.windows = {.kernel = {2}, .stride = {2}, .ceil_mode = true}}, {5}), (Extents{3}));
  // Rounded up there would be 4 windows, but the last would start behind the input.
  EXPECT_EQ(output_shape({.windows = {.kernel = {1}, .stride = {3}, .pad_lo = {1}, .ceil_mode = true}}, {6}),
            (Extents{3}));
  EXPECT_EQ(output_shape({.windows = {.kernel = {3}, .stride = {2}, .padding = Padding::same_upper}}, {9}),
            (Extents{5}));
  EXPECT_EQ(output_shape({.windows = {.kernel = {3}, .stride = {1}, .dilation = {2}}}, {9}), (Extents{5}));
}

TEST(Rules, S1_SamePadsTheOddElementAfterOrBefore) {
  const Floats x{1, 2, 3, 4, 5};
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {2}, .padding = Padding::same_upper}}, x, {5}),
            (Floats{3, 7, 5}));
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {2}, .padding = Padding::same_lower}}, x, {5}),
            (Floats{1, 5, 9}));
}

TEST(Rules, S2_taps) {
  const Floats x{1, 2, 4, 8, 16};
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {2}, .stride = {1}, .dilation = {3}}}, x, {5}),
            (Floats{9, 18}));
  EXPECT_EQ(
      run<float>({.op = Op::sum, .windows = {.kernel = {2}, .stride = {2}, .pad_lo = {3}, .pad_hi = {0}}}, x, {5}),
      (Floats{0, 1, 6, 24}));
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kind = WindowKind::adaptive, .output_size = {2}}}, x, {5}),
            (Floats{7, 28}));
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kind = WindowKind::global}}, x, {5}), (Floats{31}));
}

TEST(Rules, S3_nan) {
  const Floats x{1, static_cast<float>(kNan), 9, static_cast<float>(kNan), 2};
  const Pool pool{.windows = {.kernel = {5}}};
  EXPECT_TRUE(std::isnan(run<float>(pool, x, {5})[0]));
  EXPECT_EQ(places(pool, x, {5}, IndexSpace::plane), (Places{3}));
  Pool omit = pool;
  omit.nan = NanPolicy::omit;
  EXPECT_EQ(run<float>(omit, x, {5}), (Floats{9}));
  EXPECT_EQ(places(omit, x, {5}, IndexSpace::plane), (Places{2}));
  omit.op = Op::avg;
  EXPECT_EQ(run<float>(omit, x, {5}), (Floats{4}));
  omit.op = Op::sum;
  EXPECT_EQ(run<float>(omit, x, {5}), (Floats{12}));
  EXPECT_TRUE(std::isnan(run<float>({.op = Op::avg, .windows = {.kernel = {5}}}, x, {5})[0]));
}

TEST(Rules, S3_NothingButNan) {
  const Floats x{static_cast<float>(kNan), static_cast<float>(kNan)};
  const Pool max{.windows = {.kernel = {2}}, .nan = NanPolicy::omit};
  EXPECT_EQ(run<float>(max, x, {2}), (Floats{-kInfinity}));
  EXPECT_EQ(places(max, x, {2}, IndexSpace::tensor), (Places{-1}));
  EXPECT_EQ(run<float>({.op = Op::avg, .windows = {.kernel = {2}}, .nan = NanPolicy::omit}, x, {2}), (Floats{0}));
  EXPECT_EQ(gradient<float>(max, x, {5}, {2}), (Floats{0, 0}));
}

TEST(Rules, S4_ties) {
  const Pool pool{.windows = {.kernel = {2}}};
  EXPECT_TRUE(std::signbit(run<float>(pool, {-0.0F, 0.0F}, {2})[0]));
  EXPECT_FALSE(std::signbit(run<float>(pool, {0.0F, -0.0F}, {2})[0]));
  EXPECT_TRUE(std::signbit(run<float>({.op = Op::min, .windows = {.kernel = {2}}}, {-0.0F, 0.0F}, {2})[0]));
  EXPECT_FALSE(std::signbit(run<float>({.op = Op::min, .windows = {.kernel = {2}}}, {0.0F, -0.0F}, {2})[0]));
  EXPECT_EQ(places<float>({.windows = {.kernel = {2, 2}}}, {1, 5, 5, 5}, {2, 2}, IndexSpace::plane), (Places{1}));
  EXPECT_EQ(places<float>({.windows = {.kernel = {4}}}, {3, 3, 3, 3}, {4}, IndexSpace::window), (Places{0}));
  // The order of `axes` is the order of the scan: here the second axis is the outer one.
  EXPECT_EQ(places<float>({.windows = {.kernel = {2}, .axes = {1, 0}}}, {1, 5, 5, 1}, {2, 2}, IndexSpace::tensor),
            (Places{2}));
}

TEST(Rules, S5_divisor) {
  const Floats x{6, 6, 6, 6, 6};
  const Pool include{.op = Op::avg, .windows = {.kernel = {3}, .stride = {2}, .pad_lo = {1}}};
  EXPECT_EQ(run<float>(include, x, {5}), (Floats{4, 6, 4}));
  Pool exclude = include;
  exclude.count_include_pad = false;
  EXPECT_EQ(run<float>(exclude, x, {5}), (Floats{6, 6, 6}));
  Pool given = include;
  given.divisor = 2;
  EXPECT_EQ(run<float>(given, x, {5}), (Floats{6, 9, 6}));
  // The overhang of ceil mode does not count: the last window has two places that do.
  EXPECT_EQ(run<float>({.op = Op::avg, .windows = {.kernel = {3}, .stride = {3}, .ceil_mode = true}}, x, {5}),
            (Floats{6, 6}));
}

TEST(Rules, S6_noTap) {
  const Floats x{5};
  const Pool far{.windows = {.kernel = {2}, .stride = {1}, .pad_lo = {3}, .pad_hi = {0}}};
  EXPECT_EQ(run<float>(far, x, {1}), (Floats{-kInfinity, -kInfinity, 5}));
  EXPECT_EQ(places(far, x, {1}, IndexSpace::plane), (Places{-1, -1, 0}));
  EXPECT_EQ(run<std::int8_t>(far, {5}, {1}), (std::vector<std::int8_t>{-128, -128, 5}));
  Pool other = far;
  other.op = Op::min;
  EXPECT_EQ(run<float>(other, x, {1}), (Floats{kInfinity, kInfinity, 5}));
  EXPECT_EQ(run<std::uint8_t>(other, {5}, {1}), (std::vector<std::uint8_t>{255, 255, 5}));
  for (Op op : {Op::sum, Op::avg, Op::lp}) {
    other.op = op;
    const Floats y = run<float>(other, x, {1});
    EXPECT_EQ(y[0], 0);
    EXPECT_FALSE(std::signbit(y[0]));
  }
}

TEST(Rules, S7_accumulators) {
  const auto h = [](double v) { return half(v); };
  // In f16 arithmetic 2048 + 1 would stay 2048.
  EXPECT_EQ(static_cast<float>(run<half>({.op = Op::sum, .windows = {.kernel = {3}}}, {h(2048), h(1), h(1)}, {3})[0]),
            2050);
  using I8 = std::vector<std::int8_t>;
  const Pool sum{.op = Op::sum, .windows = {.kernel = {2}}}, average{.op = Op::avg, .windows = {.kernel = {2}}};
  EXPECT_EQ(run<std::int8_t>(sum, {100, 100, -100, -100}, {4}), (I8{127, -128}));
  EXPECT_EQ(run<std::int8_t>(average, {1, 2, 0, 1, -1, 0, -3, 0, 127, 127}, {10}), (I8{2, 0, 0, -2, 127}));
  using U64 = std::vector<std::uint64_t>;
  EXPECT_EQ(run<std::uint64_t>(sum, {~0ULL, 3}, {2}), (U64{2}));
  EXPECT_EQ(run<std::int64_t>(average, {(1LL << 60) + 1, 1LL << 60}, {2})[0], 1LL << 60);
}

TEST(Rules, S7_QuotientsAreRoundedOnce) {
  // 1/3 in f32, and a f16 quotient that would go astray by way of f32.
  EXPECT_EQ(run<float>({.op = Op::avg, .windows = {.kernel = {3}}}, {1, 0, 0}, {3})[0], 1.0F / 3);
  Pool divided{.op = Op::avg, .windows = {.kernel = {1}}, .divisor = (index_t{1} << 24) + 1};
  EXPECT_EQ(run<float>(divided, {16777216.0F}, {1})[0], static_cast<float>(16777216.0L / 16777217.0L));
  divided.divisor = std::numeric_limits<index_t>::max();
  EXPECT_EQ(run<float>(divided, {1.0F}, {1})[0], 0x1p-63F);
}

TEST(Rules, S7_Booleans) {
  const auto booleans = [](std::initializer_list<int> values) {
    std::vector<bool8> out;
    for (int v : values) {
      bool8 b;
      b.byte = static_cast<std::uint8_t>(v);
      out.push_back(b);
    }
    return out;
  };
  const auto bytes = [](const std::vector<bool8>& values) {
    std::vector<int> out;
    for (bool8 b : values) out.push_back(b.byte);
    return out;
  };
  using Bytes = std::vector<int>;
  const auto x = booleans({0, 0, 0, 1, 7, 0, 255, 2});
  EXPECT_EQ(bytes(run<bool8>({.op = Op::max, .windows = {.kernel = {2}}}, x, {8})), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(bytes(run<bool8>({.op = Op::min, .windows = {.kernel = {2}}}, x, {8})), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(bytes(run<bool8>({.op = Op::sum, .windows = {.kernel = {2}}}, x, {8})), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(bytes(run<bool8>({.op = Op::lp, .windows = {.kernel = {2}}}, x, {8})), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(bytes(run<bool8>({.op = Op::avg, .windows = {.kernel = {2}}}, x, {8})),
            (Bytes{0, 0, 0, 1}));  // more than half
  EXPECT_EQ(places<bool8>({.op = Op::max, .windows = {.kernel = {4}}}, booleans({0, 1, 9, 1}), {4}, IndexSpace::plane),
            (Places{1}));
}

TEST(Rules, S8_sumOrder) {
  // (1e8 + 1) + (-1e8 + 1): both ones are lost. From left to right the second would stay.
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {4}}}, {1e8F, 1, -1e8F, 1}, {4}), (Floats{0}));
  // Three taps are two and one: (1e8 + -1e8) + 1.
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {3}}}, {1e8F, -1e8F, 1}, {3}), (Floats{1}));
  // An absent tap keeps its place: the first two taps are in padding, so (0 + 0) + (1e8 + 1) and then -1e8.
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {5}, .stride = {9}, .pad_lo = {2}, .pad_hi = {0}}},
                       {1e8F, 1, -1e8F}, {3}),
            (Floats{0}));
  // Columns first: 1e8 - 1e8 and 1 + 1, then the row.
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {2, 2}}}, {1e8F, 1, -1e8F, 1}, {2, 2}), (Floats{2}));
  EXPECT_EQ(run<float>({.op = Op::sum, .windows = {.kernel = {2, 2}, .axes = {1, 0}}}, {1e8F, 1, -1e8F, 1}, {2, 2}),
            (Floats{0}));
  // Nothing but -0 stays -0.
  EXPECT_TRUE(std::signbit(run<float>({.op = Op::sum, .windows = {.kernel = {2}}}, {-0.0F, -0.0F}, {2})[0]));
}

TEST(Rules, S9_backward) {
  const Pool overlapping{.op = Op::sum, .windows = {.kernel = {2}, .stride = {1}}};
  EXPECT_EQ(gradient<float>(overlapping, {0, 0, 0, 0}, {1, 2, 4}, {4}), (Floats{1, 3, 6, 4}));
  EXPECT_EQ(gradient<float>({.op = Op::avg, .windows = {.kernel = {2}, .stride = {1}}}, {0, 0, 0}, {2, 4}, {3}),
            (Floats{1, 3, 2}));
  EXPECT_EQ(gradient<float>({.windows = {.kernel = {2}, .stride = {1}}}, {1, 3, 2}, {10, 20}, {3}), (Floats{0, 30, 0}));
  EXPECT_EQ(gradient<float>({.op = Op::min, .windows = {.kernel = {3}}}, {1, 1, 1}, {5}, {3}), (Floats{5, 0, 0}));
  EXPECT_EQ(gradient<std::int8_t>({.windows = {.kernel = {1}, .stride = {1}}}, {1, 2}, {-128, 127}, {2}),
            (std::vector<std::int8_t>{-128, 127}));
  EXPECT_EQ(gradient<std::int8_t>({.windows = {.kernel = {2}, .stride = {1}}}, {1, 9, 2}, {100, 100}, {3}),
            (std::vector<std::int8_t>{0, 127, 0}));
  // An input that no output reads, and one that gets -0, have gradient +0.
  const Floats dx =
      gradient<float>({.op = Op::sum, .windows = {.kernel = {1}, .stride = {2}}}, {7, 7, 7}, {-0.0F, 1}, {3});
  EXPECT_EQ(dx, (Floats{0, 0, 1}));
  EXPECT_FALSE(std::signbit(dx[0]) || std::signbit(dx[1]));
}

TEST(Rules, S9_LpBackward) {
  EXPECT_EQ(run<float>({.op = Op::lp, .windows = {.kernel = {2}}}, {3, -4}, {2}), (Floats{5}));
  EXPECT_EQ(gradient<float>({.op = Op::lp, .windows = {.kernel = {2}}}, {3, -4}, {10}, {2}), (Floats{6, -8}));
  EXPECT_EQ(gradient<float>({.op = Op::lp, .windows = {.kernel = {2}}, .norm = 1}, {3, -4}, {10}, {2}),
            (Floats{10, -10}));
  EXPECT_EQ(gradient<float>({.op = Op::lp, .windows = {.kernel = {3}}, .norm = HUGE_VAL}, {3, -4, 4}, {10}, {3}),
            (Floats{0, -10, 0}));
  EXPECT_EQ(gradient<float>({.op = Op::lp, .windows = {.kernel = {2}}}, {0, 0}, {10}, {2}), (Floats{0, 0}));
}

TEST(Rules, S10_indices) {
  Floats x(2 * 3 * 4 * 5, 0);
  x[(1 * 3 + 2) * 20 + 2 * 5 + 3] = 1;  // batch 1, channel 2, row 2, column 3
  const Pool pool{.windows = {.kernel = {2}, .stride = {2}, .axes = {2, 3}}};
  const std::size_t o = (1 * 3 + 2) * 4 + 1 * 2 + 1;
  EXPECT_EQ(places(pool, x, {2, 3, 4, 5}, IndexSpace::plane)[o], 13);
  EXPECT_EQ(places(pool, x, {2, 3, 4, 5}, IndexSpace::tensor)[o], 113);
  EXPECT_EQ(places(pool, x, {2, 3, 4, 5}, IndexSpace::window)[o], 1);
}

TEST(Rules, S10_Unpool) {
  const Floats y{5, 7};
  const Places indices{3, 0};
  Floats x(4, 9);
  unpool({0},
         {.y = ConstTensor(y.data(), {2}), .indices = ConstTensor(indices.data(), {2}), .x = Tensor(x.data(), {4})});
  EXPECT_EQ(x, (Floats{7, 0, 0, 5}));
  const Places twice{2, 2}, none{-1, 1};
  unpool({0}, {.y = ConstTensor(y.data(), {2}),
               .indices = ConstTensor(twice.data(), {2}),
               .space = IndexSpace::tensor,
               .x = Tensor(x.data(), {4})});
  EXPECT_EQ(x, (Floats{0, 0, 7, 0}));
  unpool({0}, {.y = ConstTensor(y.data(), {2}), .indices = ConstTensor(none.data(), {2}), .x = Tensor(x.data(), {4})});
  EXPECT_EQ(x, (Floats{0, 7, 0, 0}));
}

TEST(Rules, S10_UnpoolOfOneElementForAllOutputs) {
  const Floats y{5, 6, 7, 8};
  const Places indices{3, 0, 1, 2};
  Floats x(4, 9);
  unpool({0},
         {.y = ConstTensor(y.data(), Dtype::f32, {2}, {0}), .indices = {indices.data(), {2}}, .x = {x.data(), {4}}});
  EXPECT_EQ(x, (Floats{5, 0, 0, 5}));
  Floats planes(6, 9);
  unpool({1}, {.y = {y.data(), {2, 2}},
               .indices = ConstTensor(indices.data() + 2, Dtype::i64, {2, 2}, {1, 0}),
               .x = {planes.data(), {2, 3}}});
  EXPECT_EQ(planes, (Floats{0, 6, 0, 0, 0, 8}));
}

TEST(Rules, S11_empty) {
  const Pool pool{.windows = {.kernel = {2}, .axes = {2}}};
  EXPECT_EQ(output_shape(pool, {0, 3, 4}), (Extents{0, 3, 2}));
  EXPECT_EQ(run<float>(pool, {}, {0, 3, 4}).size(), 0U);
  EXPECT_EQ(run<std::uint8_t>({.op = Op::avg, .windows = {.kernel = {2}, .axes = {2, 3}}}, {}, {2, 0, 4, 4}).size(),
            0U);
  EXPECT_EQ(gradient<float>(pool, {}, {}, {0, 3, 4}).size(), 0U);
  // Every way, forward and backward, of a batch or of channels that are none.
  for (const char* name : {"max:f32:0x3x8x8:k2x2", "max:f32:2x0x8x8:k3x3s2p1", "avg:f32:0x3x8x8:k2x2",
                           "avg:f32:2x0x8x8:k3x3s1p1", "max:f32:0x8x8x32:k3s2p1:axes1,2", "avg:f32:2x8x8x0:k2:axes1,2",
                           "lp2:f32:0x3x8x8:k2x2", "max:f32:0x3x40x40:k31x31s1p15", "avg:f32:0x3x8x8:global:axes2,3",
                           "max:i32:0x3x8x8:k2x2", "avg:f32:0x3x8x8:out3:axes2,3", "max:f32:0x2x6x6x6:k2:axes2,3,4"}) {
    const Problem p = parse_problem(name);
    const ConstTensor x(nullptr, p.dtype, p.shape), dy(nullptr, p.dtype, p.output_shape);
    const Tensor y(nullptr, p.dtype, p.output_shape), dx(nullptr, p.dtype, p.shape);
    const Tensor indices(nullptr, Dtype::i64, p.output_shape);
    EXPECT_NO_THROW(forward(p.pool, {.x = x, .y = y})) << name;
    EXPECT_NO_THROW(backward(p.pool, {.x = x, .dy = dy, .dx = dx})) << name;
    if (p.pool.op != Op::max) continue;
    EXPECT_NO_THROW(forward(p.pool, {.x = x, .y = y, .indices = indices})) << name;
    EXPECT_NO_THROW(backward(p.pool, {.dy = dy, .indices = indices, .dx = dx})) << name;
    EXPECT_NO_THROW(unpool(p.pool.windows.axes, {.y = y, .indices = indices, .x = dx})) << name;
  }
}

}  // namespace
}  // namespace oriel::test
