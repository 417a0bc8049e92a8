// S22 and the arithmetic of plans.
#include <gtest/gtest.h>

#include <limits>

#include "oriel/pyramid.h"
#include "support.h"

namespace oriel::test {
namespace {

TEST(PyramidPlan, S22_CoordinatesAreThoseOfTheCentresOfWindows) {
  const Pyramid p{.pool = {.op = Op::avg}, .factors = {{1, 2, 2}, {2, 2, 3}}};
  const std::vector<PyramidLevel> levels = pyramid_levels(p, Dtype::u16, {10, 21, 30});
  EXPECT_EQ(levels[1].shape, (Extents{10, 11, 15}));
  EXPECT_EQ(levels[2].shape, (Extents{5, 6, 5}));
  const LevelCoordinates base{.scale = {5, 0.5, 0.25}, .translation = {100, 0, -1}};
  EXPECT_EQ(level_coordinates(Op::avg, levels[1], base),
            (LevelCoordinates{.scale = {5, 1, 0.5}, .translation = {100, 0.25, -0.875}}));
  EXPECT_EQ(level_coordinates(Op::avg, levels[2], base),
            (LevelCoordinates{.scale = {10, 2, 1.5}, .translation = {102.5, 0.75, -0.375}}));
  EXPECT_EQ(level_coordinates(Op::first, levels[2], base),
            (LevelCoordinates{.scale = {10, 2, 1.5}, .translation = {100, 0, -1}}));
}

TEST(PyramidPlan, S22_AnOriginMovesTheFirstWindow) {
  const Pyramid p{.pool = {.op = Op::avg}, .factors = {{4}}, .origin = {6}};
  const PyramidLevel level = pyramid_levels(p, Dtype::f32, {7})[1];
  EXPECT_EQ(level.shape, (Extents{3}));  // inputs 0-1, 2-5, 6
  EXPECT_EQ(level.lead, (Extents{2}));
  EXPECT_EQ(level_coordinates(Op::avg, level, {}), (LevelCoordinates{.scale = {4}, .translation = {-0.5}}));
}

TEST(PyramidPlan, FactorsMakeElementsCubesAndStopWhereLevelsAreSmall) {
  EXPECT_EQ(pyramid_factors({100, 64}, {}, {}, {32, 32}), (std::vector<Extents>{{2, 2}, {2, 2}}));
  EXPECT_EQ(pyramid_factors({3, 100, 100}, {}, {-2, -1}, {1, 64, 64}), (std::vector<Extents>{{1, 2, 2}}));
  EXPECT_EQ(pyramid_factors({40, 200, 200}, {3, 1, 1}, {}, {64, 64, 64}), (std::vector<Extents>{{1, 2, 2}, {2, 2, 2}}));
  EXPECT_EQ(pyramid_factors({1, 200}, {1, 1}, {}, {64, 64}), (std::vector<Extents>{{1, 2}, {1, 2}}));
  EXPECT_TRUE(pyramid_factors({64, 64}, {}, {}, {64, 64}).empty());
  EXPECT_EQ(pyramid_factors({256, 256}, {1.7e308, 1e308}, {}, {64, 64}), (std::vector<Extents>{{2, 2}, {2, 2}}));
  EXPECT_EQ(error_of([] {
              pyramid_factors({8, 8}, {1, 0}, {}, {4, 4});
            }),
            "pyramid: spacing must be > 0 and finite, but axis 1 has 0");
  EXPECT_EQ(error_of([] {
              pyramid_factors({8, 8}, {std::numeric_limits<double>::infinity(), 1}, {}, {4, 4});
            }),
            "pyramid: spacing must be > 0 and finite, but axis 0 has inf");
  EXPECT_EQ(error_of([] { pyramid_factors({8, 8}, {}, {2}, {4, 4}); }), "pyramid: axes must be -2 to 1, but has 2");
}

// A terabyte is planned without looking at it, and with little memory.
TEST(PyramidPlan, LargeVolumesNeedLittleMemory) {
  const Extents shape{8192, 8192, 8192};
  const Pyramid p{.pool = {.op = Op::avg}, .factors = pyramid_factors(shape, {}, {}, {64, 64, 64})};
  EXPECT_EQ(p.factors.size(), 7U);
  const PyramidPlan plan =
      plan_pyramid(p, Dtype::u16, shape, {.threads = 4, .chunks = {{64, 64, 64}}, .source_chunk = {64, 64, 64}});
  EXPECT_EQ(plan.tile, (Extents{128, 128, 128}));
  EXPECT_EQ(plan.tiles, 64 * 64 * 64);
  EXPECT_LT(plan.memory, index_t{128} << 20);
  const PyramidPlan less =
      plan_pyramid(p, Dtype::u16, shape, {.threads = 4, .chunks = {{64, 64, 64}}, .memory = index_t{32} << 20});
  EXPECT_LE(less.memory, index_t{32} << 20);
}

// What an error asks for is enough.
TEST(PyramidPlan, TheLeastMemoryIsSaidOnce) {
  for (const index_t chunk : {7, 60, 64}) {
    const Pyramid p{.pool = {.op = Op::avg}, .factors = {{2}, {2}}};
    PyramidOptions options{.threads = 1, .chunks = {{chunk}}, .memory = 1};
    const std::string error = error_of([&] { plan_pyramid(p, Dtype::u8, {500, 500}, options); });
    const std::string before = "pyramid: memory must be at least ";
    ASSERT_TRUE(error.starts_with(before)) << error;
    options.memory = std::stoll(error.substr(before.size()));
    EXPECT_EQ(message([&] { plan_pyramid(p, Dtype::u8, {500, 500}, options); }), "(no error)");
  }
}

}  // namespace
}  // namespace oriel::test
