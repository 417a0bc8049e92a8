// S21: every level against loops over the definition, for all ways of cutting the work.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "oriel/pool.h"
#include "pyramid/keeper.h"
#include "pyramid/naive_pyramid.h"
#include "seeds.h"
#include "support.h"

namespace oriel::test {
namespace {

std::string difference(const Pyramid& pyramid, Dtype dtype, const Numbers& x, const PyramidOptions& options,
                       bool tell_uniform = false) {
  const std::vector<std::byte> bytes = stored(x.values, dtype);
  const Extents shape = extents(x.shape);
  const PyramidPlan plan = plan_pyramid(pyramid, dtype, shape, options);
  Keeper keeper(bytes, plan);
  if (tell_uniform) keeper.tell_uniform();
  const PyramidReport report = build_pyramid(pyramid, dtype, shape, keeper, keeper, options);
  if (report.tiles_read + report.tiles_uniform > plan.tiles) return "more tiles than planned";
  if (keeper.read_elements() > element_count(shape)) return "level 0 is read more than once";
  if (options.with_base && keeper.level(0) != bytes) return "level 0 is not copied";
  const std::vector<Numbers> expected = naive_pyramid(pyramid, x, dtype);
  for (std::size_t l = 1; l < plan.levels.size(); ++l) {
    const PyramidLevel& level = plan.levels[l];
    const Numbers& e = expected[l - 1];
    if (!(extents(e.shape) == level.shape))
      return "level " + std::to_string(l) + " has shape " + to_string(level.shape);
    const std::vector<std::byte> want = stored(e.values, level.dtype);
    if (keeper.level(static_cast<int>(l)) != want) {
      for (std::size_t i = 0; i < e.values.size(); ++i) {
        const auto size = static_cast<std::size_t>(size_bytes(level.dtype));
        if (std::memcmp(keeper.level(static_cast<int>(l)).data() + i * size, want.data() + i * size, size) != 0) {
          return "level " + std::to_string(l) + " element " + std::to_string(i) + " should be " +
                 std::to_string(e.values[i]);
        }
      }
    }
  }
  return "";
}

std::string describe(const Pyramid& p, Dtype dtype, const Numbers& x) {
  std::string text = std::string(name(p.pool.op)) + " " + std::string(name(dtype)) + " " + to_string(extents(x.shape));
  for (const Extents& f : p.factors) text += " f" + to_string(f);
  return text + " origin " + to_string(p.origin) + " edge " + std::to_string(static_cast<int>(p.edge));
}

TEST(Pyramid, S21_EverySmallOneIsWhatTheDefinitionSays) {
  std::mt19937_64 random(1);
  const std::vector<Kind> all = kinds();
  std::size_t turn = 0;
  for (index_t n = 1; n <= 40; ++n) {
    for (index_t f = 2; f <= 4; ++f) {
      for (index_t second = 1; second <= 4; ++second) {
        for (index_t origin = 0; origin < 2 * f; ++origin) {
          // Each kind meets every n and f; levels and origins go on by turns.
          const Kind& kind = all[turn++ % all.size()];
          Pyramid p{.pool = kind.pool, .factors = {{f}}, .origin = {origin}};
          if (second > 1) p.factors.push_back({second});
          if (second > 2) p.factors.push_back({2});
          if (second > 3) p.factors.push_back({3});
          const Dtype dtype = kind.dtypes[random() % kind.dtypes.size()];
          const Numbers x = random_numbers(random, {n}, dtype, kind.labels);
          const PyramidOptions options{.threads = 1, .chunks = {{1 + static_cast<index_t>(random() % 9)}}};
          ASSERT_EQ(difference(p, dtype, x, options), "") << describe(p, dtype, x);
        }
      }
    }
  }
}

TEST(Pyramid, S21_RandomOnesAreWhatTheDefinitionSays) {
  const std::vector<Kind> all = kinds();
  for (const unsigned seed : seeds()) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 1500; ++i) {
      const Kind& kind = all[random() % all.size()];
      const std::size_t rank = 1 + random() % 3;
      std::vector<index_t> shape;
      for (std::size_t d = 0; d < rank; ++d)
        shape.push_back(1 + static_cast<index_t>(random() % (rank == 3 ? 14 : 40)));
      Pyramid p{.pool = kind.pool};
      for (std::size_t l = 0; l <= random() % 4; ++l) {
        Extents step;
        for (std::size_t d = 0; d < rank; ++d) step.push_back(1 + static_cast<index_t>(random() % 3));
        step[0] = std::max<index_t>(step[0], 2);
        p.factors.push_back(step);
      }
      if (random() % 2 == 0) {
        for (std::size_t d = 0; d < rank; ++d) p.origin.push_back(static_cast<index_t>(random() % 20));
      }
      const Dtype dtype = kind.dtypes[random() % kind.dtypes.size()];
      // Means of floats are rounded, so that sums of them depend on the order.
      const bool inexact = kind.pool.op == Op::avg && is_floating(dtype);
      const bool keeps_dtype = kind.pool.op != Op::count && kind.pool.op != Op::any && !inexact;
      if (random() % 4 == 0 && keeps_dtype && kind.pool.op != Op::sum && dtype != Dtype::boolean) {
        p.source = LevelSource::previous;
      }
      const Numbers x = random_numbers(random, shape, dtype, kind.labels);
      PyramidOptions options{.threads = 1 + static_cast<int>(random() % 4), .with_base = random() % 2 == 0};
      Extents chunk, source;
      for (std::size_t d = 0; d < rank; ++d) {
        chunk.push_back(1 + static_cast<index_t>(random() % 8));
        source.push_back(1 + static_cast<index_t>(random() % 16));
      }
      options.chunks = {chunk};
      if (random() % 2 == 0) options.source_chunk = source;
      // Small bounds make small tiles.
      const PyramidPlan free = plan_pyramid(p, dtype, extents(shape), options);
      if (random() % 2 == 0) {
        options.memory = 1 + free.memory / 2;
        if (message([&] { plan_pyramid(p, dtype, extents(shape), options); }) != "(no error)") options.memory = 0;
      }
      ASSERT_EQ(difference(p, dtype, x, options, random() % 2 == 0), "")
          << describe(p, dtype, x) << " seed " << seed << " problem " << i;
    }
  }
}

TEST(Pyramid, S21_TrimmedOnesHaveWholeWindowsOnly) {
  std::mt19937_64 random(2);
  for (index_t n = 8; n <= 40; ++n) {
    Pyramid p{.pool = {.op = Op::avg}, .factors = {{2}, {3}}, .edge = Edge::trim};
    const Numbers x = random_numbers(random, {n, 9}, Dtype::u8, false);
    ASSERT_EQ(difference(p, Dtype::u8, x, {.threads = 1, .with_base = n % 2 == 0, .chunks = {{2}}}), "") << n;
  }
  Pyramid exact{.pool = {.op = Op::avg}, .factors = {{2}, {2}}, .edge = Edge::exact};
  EXPECT_EQ(pyramid_levels(exact, Dtype::u8, {12})[2].shape, (Extents{3}));
  EXPECT_EQ(error_of([&] { pyramid_levels(exact, Dtype::u8, {6}); }),
            "pyramid: shape must be a multiple of 4 along axis 0 for level 2 with edge exact, but is 6");
}

// Windows of more elements than a tile may have: levels above are made of what tiles leave.
TEST(Pyramid, S21_LevelsAboveTilesGoOnFromSums) {
  const index_t n = 9'000'000;
  std::vector<std::uint8_t> x(static_cast<std::size_t>(n));
  std::mt19937_64 random(3);
  for (std::uint8_t& v : x) v = static_cast<std::uint8_t>(random());
  for (const Op op : {Op::avg, Op::max}) {
    const Pyramid p{.pool = {.op = op}, .factors = {{1024}, {1024}, {4}, {2}}};
    std::vector<std::vector<std::uint8_t>> levels;
    std::vector<Tensor> views;
    for (const PyramidLevel& level : pyramid_levels(p, Dtype::u8, {n})) {
      levels.emplace_back(static_cast<std::size_t>(level.shape[0]));
    }
    for (std::size_t l = 1; l < levels.size(); ++l)
      views.emplace_back(std::span(levels[l]), Extents{static_cast<index_t>(levels[l].size())});
    build_pyramid(p, {x, {n}}, views, {.threads = 2});
    index_t factor = 1;
    for (std::size_t l = 1; l < levels.size(); ++l) {
      factor *= p.factors[l - 1][0];
      for (std::size_t o = 0; o < levels[l].size(); ++o) {
        const auto begin = static_cast<index_t>(o) * factor, end = std::min(begin + factor, n);
        index_t sum = 0, most = 0;
        for (index_t i = begin; i < end; ++i) {
          sum += x[static_cast<std::size_t>(i)];
          most = std::max<index_t>(most, x[static_cast<std::size_t>(i)]);
        }
        const auto mean =
            static_cast<index_t>(std::nearbyint(static_cast<long double>(sum) / static_cast<long double>(end - begin)));
        ASSERT_EQ(levels[l][o], op == Op::avg ? mean : most) << "level " << l << " element " << o;
      }
    }
  }
}

// Sums of floats follow the tree of the first level, then that of the second (S8), in f64.
TEST(Pyramid, S21_SumsOfFloatsAreAddedLevelByLevel) {
  std::mt19937_64 random(4);
  std::vector<float> x(36);
  for (float& v : x) v = static_cast<float>(static_cast<double>(random()) / 1e19 - 0.5);
  std::vector<float> first(12), second(4);
  build_pyramid({.pool = {.op = Op::avg}, .factors = {{3}, {3}}}, {x, {36}},
                {Tensor(std::span(first), {12}), Tensor(std::span(second), {4})});
  std::vector<double> sums;
  for (std::size_t o = 0; o < 12; ++o) {
    sums.push_back((static_cast<double>(x[3 * o]) + static_cast<double>(x[3 * o + 1])) +
                   static_cast<double>(x[3 * o + 2]));
    EXPECT_EQ(first[o], static_cast<float>(sums[o] / 3));
  }
  for (std::size_t o = 0; o < 4; ++o) {
    EXPECT_EQ(second[o], static_cast<float>(((sums[3 * o] + sums[3 * o + 1]) + sums[3 * o + 2]) / 9));
  }
}

TEST(Pyramid, S21_NaNAndZerosAreThoseOfTheDirectPool) {
  std::mt19937_64 random(5);
  for (const Op op : {Op::max, Op::min}) {
    for (int i = 0; i < 200; ++i) {
      std::vector<float> x(60);
      for (float& v : x) v = std::array{0.0F, -0.0F, std::nanf(""), 1.0F, -1.0F}[random() % 5];
      std::vector<float> levels[2] = {std::vector<float>(30), std::vector<float>(10)}, direct(10);
      build_pyramid({.pool = {.op = op}, .factors = {{2}, {3}}}, {x, {60}},
                    {Tensor(std::span(levels[0]), {30}), Tensor(std::span(levels[1]), {10})});
      forward({.op = op, .windows = {.kernel = {6}}}, {.x = {x, {60}}, .y = {std::span(direct), {10}}});
      for (std::size_t o = 0; o < 10; ++o) {
        if (std::isnan(direct[o]))
          EXPECT_TRUE(std::isnan(levels[1][o]));
        else
          EXPECT_EQ(std::memcmp(&levels[1][o], &direct[o], sizeof direct[o]), 0) << levels[1][o] << " " << direct[o];
      }
    }
  }
}

TEST(Pyramid, S21_WhatASourceOrASinkThrowsReachesTheCaller) {
  class Bad : public PyramidSource, public PyramidSink {
   public:
    explicit Bad(bool reads) : reads_(reads) {}
    void read(const Extents&, const Tensor& to) override {
      if (!reads_) throw Error("cannot read");
      std::memset(to.data, 0, static_cast<std::size_t>(element_count(to.shape)));
    }
    void write(int, const Extents&, const ConstTensor&) override { throw Error("cannot write"); }

   private:
    bool reads_;
  };
  const Pyramid p{.pool = {.op = Op::avg}, .factors = {{2}, {2}}};
  for (const int threads : {1, 3}) {
    Bad unreadable(false), unwritable(true);
    EXPECT_EQ(error_of([&] {
                build_pyramid(p, Dtype::u8, {500, 500}, unreadable, unreadable, {.threads = threads});
              }),
              "cannot read");
    EXPECT_EQ(error_of([&] {
                build_pyramid(p, Dtype::u8, {500, 500}, unwritable, unwritable, {.threads = threads});
              }),
              "cannot write");
  }
}

TEST(Pyramid, S21_WrongArgumentsAreNamed) {
  const auto levels = [](const Pyramid& p, Dtype dtype = Dtype::u8, const Extents& shape = {8, 8}) {
    return error_of([&] { plan_pyramid(p, dtype, shape); });
  };
  EXPECT_EQ(levels({.pool = {.op = Op::avg}}), "pyramid: factors must be given for 1 level or more, but are none");
  EXPECT_EQ(levels({.pool = {.op = Op::avg}, .factors = {{1, 1}}}),
            "pyramid: factors of level 1 must be > 1 for some axis, but are 1x1");
  EXPECT_EQ(levels({.pool = {.op = Op::avg}, .factors = {{2, 2}, {2, 0}}}),
            "pyramid: factors of level 2 must be >= 1, but axis 1 has 0");
  EXPECT_EQ(levels({.pool = {.op = Op::avg}, .factors = {{2, 2, 2}}}),
            "pyramid: factors of level 1 must have 1 value or 2, one for each axis, but has 2x2x2");
  EXPECT_EQ(levels({.pool = {.op = Op::avg, .windows = {.kernel = {2}}}, .factors = {{2}}}),
            "pyramid: windows must be left as they are: factors say what a level's windows are, but are set");
  EXPECT_EQ(levels({.pool = {.op = Op::avg}, .factors = {{2}}, .origin = {-1}}),
            "pyramid: origin must be >= 0, but axis 0 has -1");
  EXPECT_EQ(levels({.pool = {.op = Op::count}, .factors = {{2}}, .source = LevelSource::previous}),
            "pyramid: dtype must stay that of the input if a level is made of the one before it, but becomes i64");
  EXPECT_EQ(levels({.pool = {.op = Op::var}, .factors = {{1024}, {2}}}, Dtype::f32, {4096, 4096}),
            "pyramid: factors must make windows of at most 2097152 elements of level 0 for var of level 0, but level 2 "
            "has windows of 2048x2048");
  EXPECT_EQ(
      error_of([] { plan_pyramid({.pool = {.op = Op::avg}, .factors = {{2}}}, Dtype::u8, {8}, {.chunks = {{0}}}); }),
      "pyramid: chunks must be >= 1, but axis 0 has 0");
  EXPECT_EQ(error_of([] {
              plan_pyramid({.pool = {.op = Op::avg}, .factors = {{2}}}, Dtype::u8, {800}, {.memory = 3});
            }).substr(0, 34),
            "pyramid: memory must be at least 1");
}

}  // namespace
}  // namespace oriel::test
