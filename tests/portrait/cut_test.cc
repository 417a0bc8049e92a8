// The whole chain on scenes whose truth is known.
#include "apps/portrait/chain/cut.h"

#include <gtest/gtest.h>
#include <algorithm>

#include "apps/portrait/chain/compose.h"
#include "apps/portrait/chain/foreground.h"
#include "apps/portrait/image/resize.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

constexpr Colour kDark{60, 40, 30}, kGreen{40, 200, 60};

Scene portrait() { return disc_scene(360, 480, 120, 3, kDark, kGreen); }

TEST(Cut, alpha_follows_the_picture_not_the_mask_s_cells) {
  const Scene scene = portrait();
  const Planes mask = coarse(scene.alpha, 72, 96);  // cells of 5 pixels
  const Cut result = cut(scene.image, mask, {});
  EXPECT_TRUE(result.person.found);
  const double plain = mean_difference(resized(mask, 360, 480), scene.alpha);
  const double refined = mean_difference(result.alpha, scene.alpha);
  EXPECT_GT(plain, 0.003);
  EXPECT_LT(refined, plain / 5) << plain;
  EXPECT_LT(refined, 0.0008);
}

TEST(Cut, far_from_the_edge_alpha_is_exactly_0_and_1) {
  const Scene scene = portrait();
  const Cut result = cut(scene.image, coarse(scene.alpha, 36, 48), {});
  EXPECT_EQ(result.alpha.row(0, 180)[240], 1);
  EXPECT_EQ(result.alpha.row(0, 180)[190], 1);
  EXPECT_EQ(result.alpha.row(0, 3)[3], 0);
  for (const float value : result.alpha.values) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
}

TEST(Cut, the_fast_way_of_large_pictures_is_near_the_full_one) {
  const Scene scene = portrait();
  const Planes mask = coarse(scene.alpha, 36, 48);
  const Cut full = cut(scene.image, mask, {});
  const Cut fast = cut(scene.image, mask, {.edge = {.working_area = 360 * 480 / 9}});
  EXPECT_LT(mean_difference(fast.alpha, full.alpha), 0.002);
  EXPECT_LT(mean_difference(fast.alpha, scene.alpha), 0.004);
}

TEST(Cut, no_person_gives_an_empty_cut) {
  const Cut result = cut(noise_image(50, 70, 1), Planes(1, 16, 16, 0.2F), {});
  EXPECT_FALSE(result.person.found);
  for (const float value : result.alpha.values) EXPECT_EQ(value, 0);
}

TEST(Cut, everything_a_person_gives_a_full_cut) {
  const Cut result = cut(noise_image(50, 70, 1), Planes(1, 16, 16, 1), {});
  EXPECT_TRUE(result.person.found);
  for (const float value : result.alpha.values) EXPECT_EQ(value, 1);
}

TEST(Cut, any_size_works) {
  for (const auto& [height, width] : {std::pair<index_t, index_t>{1, 1}, {1, 300}, {500, 1}, {2, 3}, {17, 31}}) {
    const Image image = noise_image(height, width, 3);
    const Cut result = cut(image, noise(1, 16, 16, 9), {.mask = {.least_area = 0, .least_confidence = 0}});
    EXPECT_EQ(result.alpha.height, height);
    EXPECT_EQ(result.alpha.width, width);
    EXPECT_EQ(compose(image, result, image).bytes.size(), image.bytes.size());
  }
}

TEST(Cut, threads_change_nothing) {
  const Scene scene = portrait();
  const Planes mask = coarse(scene.alpha, 36, 48);
  const Cut one = cut(scene.image, mask, {.edge = {.feather = 3}, .threads = 1});
  const Cut many = cut(scene.image, mask, {.edge = {.feather = 3}, .threads = 5});
  EXPECT_EQ(one.alpha.values, many.alpha.values);
  EXPECT_EQ(one.colours.values, many.colours.values);
  EXPECT_EQ(transparent(scene.image, one, 1).bytes, transparent(scene.image, many, 5).bytes);
}

TEST(Cut, feather_widens_the_edge_evenly) {
  const Scene scene = portrait();
  const Planes mask = coarse(scene.alpha, 120, 160);
  const auto soft = [&](index_t feather) {
    const Cut result = cut(scene.image, mask, {.edge = {.feather = feather}});
    index_t count = 0;
    double sum = 0;
    for (const float value : result.alpha.values) {
      count += value > 0.02F && value < 0.98F ? 1 : 0;
      sum += value;
    }
    return std::pair{count, sum};
  };
  const auto [hard_count, hard_sum] = soft(0);
  const auto [soft_count, soft_sum] = soft(8);
  EXPECT_GT(soft_count, 2 * hard_count);
  EXPECT_NEAR(soft_sum / hard_sum, 1, 0.01);
}

TEST(Cut, feather_leaves_the_colours_of_both_as_they_are) {
  const Scene scene = disc_scene(240, 320, 80, 1, kDark, kGreen);
  const Cut result = cut(scene.image, coarse(scene.alpha, 120, 160), {.edge = {.feather = 9}});
  const Image alone = transparent(scene.image, result);
  index_t soft = 0;
  for (std::size_t i = 0; i < scene.alpha.values.size(); ++i) {
    if (alone.bytes[4 * i + 3] < 25 || alone.bytes[4 * i + 3] > 230) continue;
    ++soft;
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_NEAR(alone.bytes[4 * i + c], scene.person.bytes[3 * i + c], 12) << "pixel " << i << ", channel " << c;
  }
  EXPECT_GT(soft, 2000);
}

TEST(Cut, bad_calls_are_named) {
  EXPECT_EQ(error_of([] { cut(Image(4, 4, 4), Planes(1, 4, 4), {}); }),
            "cut: the image has 4x4x4 samples and the mask 1x4x4; allowed: HxWx3 and 1xHxW");
  EXPECT_EQ(error_of([] { cut(Image(4, 4, 3), Planes(1, 4, 4), {.edge = {.feather = -1}}); }),
            "--feather: -1 is out of range; allowed: from 0 to 1000");
  EXPECT_EQ(error_of([] { cut(Image(4, 4, 3), Planes(1, 4, 4), {.edge = {.epsilon = 0}}); }),
            "--epsilon: 0 is out of range; allowed: above 0, at most 1");
}

// What stays of the old background in mixed pixels when the true alpha is known, against what a camera would see.
TEST(Foreground, the_halo_is_a_third_at_most_of_what_it_was) {
  const Scene scene = disc_scene(240, 320, 80, 6, kDark, kGreen);
  const Image blue(240, 320, 3);
  Image truth(240, 320, 3);
  for (std::size_t i = 0; i < truth.bytes.size(); ++i)
    truth.bytes[i] = static_cast<std::uint8_t>(scene.alpha.values[i / 3] * scene.person.bytes[i] + 0.5F);
  const auto rim = [&](std::size_t pixel) {
    return scene.alpha.values[pixel] > 0.02F && scene.alpha.values[pixel] < 0.98F;
  };
  const Cut with{scene.alpha, local_colours(colours_of(scene.image), scene.alpha, 6), 1, {}};
  const Cut without{scene.alpha, {}, 1, {}};
  const double halo = mean_difference(compose(scene.image, without, blue), truth, rim);
  const double left = mean_difference(compose(scene.image, with, blue), truth, rim);
  EXPECT_GT(halo, 10);
  EXPECT_LT(left, halo / 3);
  EXPECT_LT(left, 3);
}

TEST(Foreground, local_colours_are_those_of_the_certain_pixels_in_reach) {
  Planes colours(3, 1, 40), alpha(1, 1, 40);
  for (index_t x = 0; x < 40; ++x) {
    alpha.row(0, 0)[x] = x < 18 ? 1.0F : (x < 22 ? 0.5F : 0.0F);
    colours.row(0, 0)[x] = x < 18 ? 0.8F : 0.3F;
  }
  const Planes local = local_colours(colours, alpha, 4);
  for (index_t x = 0; x < 40; ++x) {
    EXPECT_NEAR(local.row(0, 0)[x], 0.8F, 1e-5) << x;
    EXPECT_NEAR(local.row(3, 0)[x], 0.3F, 1e-5) << x;
  }
}

TEST(Foreground, local_colours_are_those_of_everywhere_where_they_are_wanted) {
  const Scene scene = disc_scene(50, 70, 17, 4, kDark, kGreen);
  const Planes all = local_colours(colours_of(scene.image), scene.alpha, 3);
  Planes where(1, 50, 70);
  for (index_t y = 5; y < 40; ++y)
    for (index_t x = y; x < 60; ++x) where.row(0, y)[x] = 1;
  const Planes some = local_colours(colours_of(scene.image), scene.alpha, 3, where);
  for (std::size_t i = 0; i < all.values.size(); ++i)
    ASSERT_EQ(some.values[i], where.values[i % where.values.size()] > 0 ? all.values[i] : 0) << i;
}

TEST(Foreground, whole_pixels_keep_their_colour) {
  EXPECT_FLOAT_EQ(unmixed(0.7F, 1, 0.2F, 0.9F), 0.7F);
  EXPECT_FLOAT_EQ(unmixed(0.5F, 0.5F, 0.8F, 0.2F), 0.8F);
  EXPECT_EQ(unmixed(1, 0.5F, 0.9F, 0.1F), 1);  // clamped
}

TEST(Compose, shares_are_blended_and_whole_pixels_copied) {
  Image image(1, 3, 3), behind(1, 3, 3);
  image.bytes = {200, 100, 50, 200, 100, 50, 200, 100, 50};
  behind.bytes = {0, 0, 250, 0, 0, 250, 0, 0, 250};
  Cut half{Planes(1, 1, 3), {}, 1, {}};
  half.alpha.values = {0, 0.5F, 1};
  EXPECT_EQ(compose(image, half, behind).bytes, (std::vector<std::uint8_t>{0, 0, 250, 100, 50, 150, 200, 100, 50}));
  // As light: sRGB 200 is 0.5776 of full light; half of it is 0.2888, which is sRGB 146.
  EXPECT_EQ(compose(image, half, behind, {.linear_light = true}).bytes[3], 146);
  EXPECT_EQ(transparent(image, half).bytes,
            (std::vector<std::uint8_t>{0, 0, 0, 0, 200, 100, 50, 128, 200, 100, 50, 255}));
  EXPECT_EQ(mask_of(half).bytes, (std::vector<std::uint8_t>{0, 128, 255}));
}

TEST(Compose, light_wraps_around_the_edge) {
  const Scene scene = disc_scene(240, 320, 80, 2, kDark, kGreen);
  Image behind(240, 320, 3);
  for (std::size_t i = 0; i < behind.bytes.size(); ++i) behind.bytes[i] = i % 3 == 0 ? 255 : 51;
  const Cut whole{scene.alpha, {}, 1, {}};
  const Image plain = compose(scene.image, whole, behind);
  EXPECT_EQ(compose(scene.image, whole, behind, {.light_wrap = 0}).bytes, plain.bytes);
  const Image lit = compose(scene.image, whole, behind, {.light_wrap = 0.6});
  Planes seen = scene.alpha;  // of the background
  for (float& value : seen.values) value = 1 - value + 1e-3F;
  for (int pass = 0; pass < 3; ++pass) seen = naive_square(Square::mean, seen, 4);  // a sixtieth of 240
  index_t changed = 0;
  for (std::size_t i = 0; i < scene.alpha.values.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const float alpha = scene.alpha.values[i], was = static_cast<float>(scene.image.bytes[3 * i + c]) / 255;
      const float back = c == 0 ? 1.0F : 0.2F, person = 1 - (1 - was) * (1 - 0.6F * back * seen.values[i]);
      const float wanted = 255 * (back + alpha * (person - back));
      ASSERT_NEAR(lit.bytes[3 * i + c], wanted, 0.51) << "pixel " << i << ", channel " << c;
      if (alpha >= 1 && lit.bytes[3 * i + c] != plain.bytes[3 * i + c]) ++changed;
    }
  EXPECT_GT(changed, 2000);
  EXPECT_TRUE(std::equal(lit.bytes.begin() + 3 * (120 * 320 + 130), lit.bytes.begin() + 3 * (120 * 320 + 190),
                         plain.bytes.begin() + 3 * (120 * 320 + 130)));  // far from the edge
  EXPECT_EQ(error_of([&] { compose(scene.image, whole, behind, {.light_wrap = 1.5}); }),
            "--light-wrap: 1.5 is out of range; allowed: from 0 to 1");
}

TEST(Compose, sizes_must_be_the_same) {
  const Cut none{Planes(1, 2, 2), {}, 1, {}};
  EXPECT_EQ(error_of([&] { compose(Image(2, 2, 3), none, Image(2, 3, 3)); }),
            "compose: the image is 2x2x3, its alpha 2x2, the background 2x3; allowed: one size");
}

}  // namespace
}  // namespace oriel::portrait
