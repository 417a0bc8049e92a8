// The shipped kernels: bit for bit what the engine says, and within the machines' limits.
#include "oriel/tile/kernels.h"

#include <gtest/gtest.h>

#include "oriel/pool.h"
#include "tile/tutorial.h"

namespace oriel::tile::test {
namespace {

using kernels::Windows;

inline const auto max_pool2d = nki::jit("max_pool2d", kernels::max_pool2d);
inline const auto avg_pool2d = nki::jit("avg_pool2d", kernels::avg_pool2d);
inline const auto with_taps = nki::jit("max_pool2d_with_taps", kernels::max_pool2d_with_taps);
inline const auto backward_kernel = nki::jit("max_pool2d_backward", kernels::max_pool2d_backward);
inline const auto adaptive = nki::jit("adaptive_avg_pool2d", kernels::adaptive_avg_pool2d);
inline const auto max_pool3d = nki::jit("max_pool3d", kernels::max_pool3d);

Pool pool_of(Op op, const Windows& w) {
  Pool pool{.op = op,
            .windows = {.axes = {1, 2}, .ceil_mode = w.ceil_mode},
            .count_include_pad = op != Op::avg || w.count_include_pad};
  for (std::size_t a = 0; a < 2; ++a) {
    pool.windows.kernel.push_back(w.kernel[a]);
    pool.windows.stride.push_back(w.stride[a]);
    pool.windows.pad_lo.push_back(w.padding[a]);
    pool.windows.pad_hi.push_back(w.after(a));
    pool.windows.dilation.push_back(w.dilation[a]);
  }
  return pool;
}

nki::array engine(const Pool& pool, const nki::array& x) {
  nki::array y(x.dtype(), output_shape(pool, x.shape()));
  forward(pool, {.x = x, .y = y});
  return y;
}

struct Case {
  Extents shape;
  Windows windows;
};

// The matrix of PyTorch's pools, and the networks' own: ResNet, Inception, global, AlexNet.
std::vector<Case> cases() {
  return {
      {{3, 8, 8}, {.kernel = {2, 2}, .stride = {2, 2}}},
      {{3, 9, 7}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
      {{2, 9, 9}, {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .count_include_pad = false}},
      {{2, 10, 11}, {.kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 0}}},
      {{2, 12, 12}, {.kernel = {2, 3}, .stride = {1, 2}, .padding = {0, 1}, .dilation = {3, 2}}},
      {{2, 12, 12}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false, .rows = 2}},
      {{4, 7, 7}, {.kernel = {7, 7}, .stride = {7, 7}}},
      {{130, 6, 6}, {.kernel = {2, 2}, .stride = {2, 2}, .rows = 2}},
      {{257, 5, 5}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
      {{1, 4, 4}, {.kernel = {4, 4}, .stride = {1, 1}, .padding = {2, 2}, .rows = 1}},
      {{2, 8, 9}, {.kernel = {3, 3}, .stride = {2, 2}, .ceil_mode = true}},
      {{2, 8, 9}, {.kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 1}, .ceil_mode = true, .rows = 1}},
      {{2, 8, 9}, {.padding = {1, 0}, .ceil_mode = true, .count_include_pad = false}},
      {{2, 7, 8}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {0, 1}, .padding_after = {1, 0}}},
      {{2, 7, 8}, {.kernel = {3, 3}, .padding = {1, 0}, .padding_after = {0, 2}, .count_include_pad = false}},
      {{130, 5, 6}, {.kernel = {3, 3}, .padding = {1, 0}, .padding_after = {2, 1}, .ceil_mode = true, .rows = 2}},
  };
}

TEST(Kernels, MaxPoolsAreTheEngines) {
  for (const Case& c : cases()) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const nki::array x = numbers(dtype, c.shape);
      EXPECT_TRUE(same_bits(agreed(max_pool2d, x, c.windows), engine(pool_of(Op::max, c.windows), x)))
          << to_string(c.shape) << " " << kernels::to_string(c.windows) << " " << name(dtype);
    }
  }
}

TEST(Kernels, AveragePoolsAreTheEngines) {
  for (const Case& c : cases()) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
      const nki::array x = numbers(dtype, c.shape);
      EXPECT_TRUE(same_bits(agreed(avg_pool2d, x, c.windows), engine(pool_of(Op::avg, c.windows), x)))
          << to_string(c.shape) << " " << kernels::to_string(c.windows) << " " << name(dtype);
    }
  }
}

TEST(Kernels, AWindowWithoutTapsHasTheMeanZero) {
  const Windows w{.kernel = {1, 1}, .stride = {1, 1}, .padding = {1, 1}, .count_include_pad = false};
  const nki::array x = numbers(Dtype::f32, {1, 3, 3}), y = agreed(avg_pool2d, x, w);
  EXPECT_TRUE(same_bits(y, engine(pool_of(Op::avg, w), x)));
  EXPECT_EQ(y.at(0), 0);
}

TEST(Kernels, TheFirstMaximumOfAWindowIsItsTap) {
  for (const Case& c : cases()) {
    if (c.shape[0] > 10) continue;
    const nki::array x = numbers(Dtype::f32, c.shape);  // few values: many ties
    const auto out = with_taps(x, c.windows);
    const auto slow = nki::simulate(with_taps, nki::trn2)(x, c.windows);
    ASSERT_EQ(out.size(), 2U);
    EXPECT_TRUE(same_bits(out[0], slow[0]) && same_bits(out[1], slow[1]));
    const Pool pool = pool_of(Op::max, c.windows);
    nki::array y(Dtype::f32, output_shape(pool, c.shape)), places(Dtype::i64, y.shape());
    forward(pool, {.x = x, .y = y, .indices = places, .space = IndexSpace::window});
    EXPECT_TRUE(same_bits(out[0], y));
    for (index_t i = 0; i < y.size(); ++i) ASSERT_EQ(out[1].at(i), places.at(i)) << kernels::to_string(c.windows);
  }
}

TEST(Kernels, MaxBackwardSelectsAndScatters) {
  for (const Case& c : cases()) {
    if (c.shape[0] > 10) continue;
    Windows w = c.windows;
    const Pool pool = pool_of(Op::max, w);
    const nki::array x = numbers(Dtype::f32, c.shape), dy = numbers(Dtype::f32, output_shape(pool, c.shape), 2);
    nki::array dx(Dtype::f32, c.shape);
    backward(pool, {.x = x, .dy = dy, .dx = dx});
    for (const int rows : {0, 1, 3}) {
      w.rows = rows;
      const nki::array tile = agreed(backward_kernel, x, dy, w);
      ASSERT_EQ(tile.size(), dx.size());
      for (index_t i = 0; i < dx.size(); ++i) ASSERT_EQ(tile.at(i), dx.at(i)) << kernels::to_string(w) << " " << i;
    }
  }
}

TEST(Kernels, GradientsOfLargeImagesInBands) {
  const Windows resnet{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const nki::array x = numbers(Dtype::f32, {2, 224, 224}), dy = numbers(Dtype::f32, {2, 112, 112}, 2);
  nki::array dx(Dtype::f32, x.shape());
  backward(pool_of(Op::max, resnet), {.x = x, .dy = dy, .dx = dx});
  for (const nki::machine& m : {nki::trn1, nki::trn2, nki::trn3}) {
    for (const Finding& f : check(backward_kernel.trace(x, dy, resnet), m)) ADD_FAILURE() << m.name << f.id << f.text;
    const nki::array tile = backward_kernel.with({.machine = m})(x, dy, resnet);
    for (index_t i = 0; i < dx.size(); ++i) ASSERT_EQ(tile.at(i), dx.at(i)) << m.name << " " << i;
  }
  // Windows of 4 x 4 at a stride of 6: rows that no window touches.
  const Windows apart{.kernel = {4, 4}, .stride = {6, 6}, .rows = 2};
  const nki::array small = numbers(Dtype::f32, {2, 17, 12}), gradient = numbers(Dtype::f32, {2, 3, 2}, 3);
  nki::array expected(Dtype::f32, small.shape());
  backward(pool_of(Op::max, apart), {.x = small, .dy = gradient, .dx = expected});
  const nki::array tile = agreed(backward_kernel, small, gradient, apart);
  ASSERT_EQ(tile.size(), expected.size());
  for (index_t i = 0; i < tile.size(); ++i) ASSERT_EQ(tile.at(i), expected.at(i)) << i;
}

TEST(Kernels, PaddingIsNoTapThoughItIsEqual) {  // an image of -inf, which is what the padding is filled with
  const Windows w{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  nki::array x(Dtype::f32, {1, 4, 4});
  std::fill_n(x.data<float>(), 16, -std::numeric_limits<float>::infinity());
  const Pool pool = pool_of(Op::max, w);
  nki::array y(Dtype::f32, {1, 2, 2}), places(Dtype::i64, y.shape()), dx(Dtype::f32, x.shape());
  forward(pool, {.x = x, .y = y, .indices = places, .space = IndexSpace::window});
  const auto out = with_taps(x, w);
  for (index_t i = 0; i < 4; ++i) EXPECT_EQ(out[1].at(i), places.at(i));
  const nki::array dy = numbers(Dtype::f32, y.shape());
  backward(pool, {.x = x, .dy = dy, .dx = dx});
  EXPECT_TRUE(same_bits(agreed(backward_kernel, x, dy, w), dx));
}

TEST(Kernels, AWindowWithoutTapsHasNoPlace) {
  const Windows w{.kernel = {1, 2}, .stride = {1, 1}, .padding = {1, 2}};
  const nki::array x = numbers(Dtype::f32, {2, 3, 3});
  const Pool pool = pool_of(Op::max, w);
  nki::array y(Dtype::f32, output_shape(pool, x.shape())), places(Dtype::i64, y.shape());
  forward(pool, {.x = x, .y = y, .indices = places, .space = IndexSpace::window});
  const auto out = with_taps(x, w);
  int none = 0;
  for (index_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(out[1].at(i), places.at(i)) << i;
    EXPECT_EQ(out[0].at(i), y.at(i)) << i;
    none += places.at(i) == -1 ? 1 : 0;
  }
  EXPECT_GT(none, 0);
}

TEST(Kernels, AdaptiveAveragesOfNkisSamples) {  // test_adaptive_avg_pool2d.py: 16 cases, with its tolerances
  struct Sample {
    index_t n, c, h, w;
    int oh, ow;
    Dtype dtype;
  };
  const Sample samples[] = {
      {1, 64, 56, 56, 7, 7, Dtype::f32},   {2, 128, 28, 28, 7, 7, Dtype::f32},  {1, 256, 14, 14, 7, 7, Dtype::f16},
      {1, 256, 14, 14, 7, 7, Dtype::bf16}, {4, 64, 56, 56, 7, 7, Dtype::f32},   {2, 128, 28, 28, 14, 14, Dtype::f32},
      {1, 512, 7, 7, 1, 1, Dtype::f32},    {1, 64, 32, 32, 8, 8, Dtype::f16},   {3, 96, 24, 24, 6, 6, Dtype::bf16},
      {2, 192, 16, 16, 4, 2, Dtype::f32},  {2, 2048, 32, 32, 3, 3, Dtype::f32}, {1, 1, 1, 1, 1, 1, Dtype::f32},
      {1, 128, 7, 7, 7, 7, Dtype::f32},    {2, 64, 256, 256, 1, 1, Dtype::f32}, {1, 256, 13, 13, 6, 6, Dtype::f32},
      {4, 512, 7, 7, 1, 1, Dtype::f32},
  };
  for (const Sample& s : samples) {
    const index_t planes = s.n * s.c;
    nki::array x(s.dtype, {planes, s.h, s.w});
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    visit(s.dtype, [&]<class T>() {
      for (index_t i = 0; i < x.size(); ++i) x.data<T>()[i] = detail::element_of<T>(normal(random));
    });
    const nki::array y = adaptive.with({.machine = nki::trn2})(x, s.oh, s.ow);
    const double tolerance = s.dtype == Dtype::f32 ? 1e-5 : 1e-2;
    for (index_t p = 0; p < planes; p += std::max<index_t>(1, planes / 16)) {
      for (index_t o = 0; o < s.oh * s.ow; ++o) {
        const index_t i = o / s.ow, j = o % s.ow;
        const index_t top = i * s.h / s.oh, bottom = ((i + 1) * s.h + s.oh - 1) / s.oh;
        const index_t left = j * s.w / s.ow, right = ((j + 1) * s.w + s.ow - 1) / s.ow;
        double total = 0;
        for (index_t r = top; r < bottom; ++r)
          for (index_t k = left; k < right; ++k) total += x.at((p * s.h + r) * s.w + k);
        const double mean = total / static_cast<double>((bottom - top) * (right - left));
        ASSERT_NEAR(y.at((p * s.oh + i) * s.ow + j), mean, tolerance * (1 + std::abs(mean)))
            << planes << "x" << s.h << "x" << s.w << " to " << s.oh << "x" << s.ow << " " << name(s.dtype);
      }
    }
  }
}

TEST(Kernels, AdaptiveAverages) {
  const index_t sizes[][4] = {{1, 1, 1, 1}, {13, 13, 6, 6}, {16, 16, 4, 2}, {32, 32, 3, 3}, {7, 5, 3, 2}, {8, 8, 8, 8}};
  for (const auto& s : sizes) {
    const nki::array x = numbers(Dtype::f32, {6, s[0], s[1]});
    const nki::array y = agreed(adaptive, x, static_cast<int>(s[2]), static_cast<int>(s[3]));
    EXPECT_TRUE(same_bits(
        y,
        engine({.op = Op::avg, .windows = {.kind = WindowKind::adaptive, .output_size = {s[2], s[3]}, .axes = {1, 2}}},
               x)))
        << s[0] << "x" << s[1] << " to " << s[2] << "x" << s[3];
  }
}

TEST(Kernels, AdaptiveAveragesOfWindowsLongerThan128) {
  // The published kernel steps through a window by 128 rows and sums rows of the next one: 400 to 2 shows it.
  const nki::array x = numbers(Dtype::f32, {2, 400, 400});
  const nki::array y = adaptive(x, 2, 2);
  EXPECT_TRUE(same_bits(
      y, engine({.op = Op::avg, .windows = {.kind = WindowKind::adaptive, .output_size = {2, 2}, .axes = {1, 2}}}, x)));
  for (const nki::machine& m : {nki::trn1, nki::trn2, nki::trn3}) EXPECT_NO_THROW(adaptive.specialize(m, x, 2, 2));
}

TEST(Kernels, Volumes) {
  for (const auto& [k, s] : {std::pair{3, 2}, std::pair{2, 2}, std::pair{3, 1}}) {
    const nki::array x = numbers(Dtype::f32, {3, 7, 8, 9});
    Pool pool{.op = Op::max, .windows = {.kernel = {k}, .stride = {s}, .axes = {1, 2, 3}}};
    EXPECT_TRUE(same_bits(agreed(max_pool3d, x, k, s), engine(pool, x))) << k << " " << s;
    for (const nki::machine& m : {nki::trn1, nki::trn2, nki::trn3}) EXPECT_NO_THROW(max_pool3d.specialize(m, x, k, s));
  }
}

TEST(Kernels, EveryMachineTakesThem) {
  for (const nki::machine& m : {nki::trn1, nki::trn2, nki::trn3}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
      const nki::meta large{dtype, {3, 224, 224}}, many{dtype, {512, 56, 56}}, larger{dtype, {130, 448, 448}};
      const Windows half{}, three{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .count_include_pad = false};
      for (const nki::meta& x : {large, many, larger}) {
        for (const Windows& w : {half, three}) {
          for (const Finding& f : check(max_pool2d.trace(x, w), m)) ADD_FAILURE() << f.id << f.text;
          for (const Finding& f : check(avg_pool2d.trace(x, w), m)) ADD_FAILURE() << f.id << f.text;
          EXPECT_NO_THROW(require(check(with_taps.trace(x, w), m))) << m.name << to_string(x.shape);
        }
      }
    }
  }
}

TEST(Kernels, LargeImagesInBands) {
  const nki::array x = numbers(Dtype::f32, {2, 224, 224});
  EXPECT_TRUE(same_bits(nki::simulate(avg_pool2d, nki::trn1)(x, Windows{}), engine(pool_of(Op::avg, {}), x)));
  const nki::array big = numbers(Dtype::f32, {3, 448, 448});  // nki-samples' contributed/maxpooling
  const Windows three{.kernel = {3, 3}, .stride = {1, 1}};
  EXPECT_TRUE(same_bits(max_pool2d.with({.machine = nki::trn1})(big, three), engine(pool_of(Op::max, three), big)));
}

TEST(Kernels, ByName) {
  for (const ShippedKernel& k : shipped_kernels()) {
    const nki::meta x{Dtype::f32, k.rank == 4 ? Extents{2, 6, 6, 6} : Extents{2, 6, 6}};
    const Program program = k.trace(x, {{"pool_size", 2}, {"kernel", 2}, {"output", 3}});
    EXPECT_EQ(program.name, k.name);
    require(verify(program));
    require(check(program, nki::trn2));
  }
  EXPECT_THROW(shipped_kernels()[0].trace({Dtype::f32, {2, 6, 6}}, {}), Error);
}

}  // namespace
}  // namespace oriel::tile::test
