#include "apps/portrait/chain/mask.h"

#include <gtest/gtest.h>

#include <limits>

#include "scene.h"

namespace oriel::portrait {
namespace {

void rectangle(Planes& mask, index_t top, index_t left, index_t height, index_t width, float value) {
  for (index_t y = top; y < top + height; ++y)
    for (index_t x = left; x < left + width; ++x) mask.row(0, y)[x] = value;
}

TEST(SoftThreshold, is_smooth_between_its_ends) {
  EXPECT_EQ(soft_threshold(0.2F, 0.25F, 0.75F), 0);
  EXPECT_EQ(soft_threshold(0.25F, 0.25F, 0.75F), 0);
  EXPECT_EQ(soft_threshold(0.5F, 0.25F, 0.75F), 0.5F);
  EXPECT_EQ(soft_threshold(0.75F, 0.25F, 0.75F), 1);
  EXPECT_FLOAT_EQ(soft_threshold(0.375F, 0.25F, 0.75F), 0.15625F);  // 3/16 - 2/64
  EXPECT_EQ(soft_threshold(0.5F, 0.5F, 0.5F), 0);
  EXPECT_EQ(soft_threshold(0.6F, 0.5F, 0.5F), 1);
  EXPECT_EQ(soft_threshold(std::numeric_limits<float>::quiet_NaN(), 0.25F, 0.75F), 0);
}

TEST(MainParts, small_ones_go_and_soft_rims_stay) {
  Planes mask(1, 40, 60);
  rectangle(mask, 4, 4, 22, 22, 0.4F);  // the rim of the large part
  rectangle(mask, 5, 5, 20, 20, 1);
  rectangle(mask, 10, 40, 10, 10, 0.8F);  // a quarter of its area
  rectangle(mask, 35, 50, 2, 2, 1);       // a speck
  rectangle(mask, 30, 4, 2, 20, 0.3F);    // haze that belongs to nothing
  const Planes two = main_parts(mask, 0.2F);
  EXPECT_EQ(two.row(0, 4)[4], 0.4F);
  EXPECT_EQ(two.row(0, 12)[12], 1);
  EXPECT_EQ(two.row(0, 15)[45], 0.8F);
  EXPECT_EQ(two.row(0, 35)[50], 0);
  EXPECT_EQ(two.row(0, 30)[10], 0);
  const Planes one = main_parts(mask, 1);
  EXPECT_EQ(one.row(0, 12)[12], 1);
  EXPECT_EQ(one.row(0, 15)[45], 0);
  EXPECT_EQ(main_parts(mask, 0).row(0, 35)[50], 1);
}

TEST(MainParts, corners_connect) {
  Planes mask(1, 4, 4);
  for (index_t i = 0; i < 4; ++i) mask.row(0, i)[i] = 1;
  EXPECT_EQ(main_parts(mask, 1).values, mask.values);
}

TEST(MainParts, nothing_stays_nothing) {
  EXPECT_EQ(main_parts(Planes(1, 5, 7), 0.5F).values, Planes(1, 5, 7).values);
  EXPECT_EQ(main_parts(Planes(1, 5, 7, 0.49F), 0.5F).values, Planes(1, 5, 7).values);
}

TEST(WithoutHoles, small_ones_are_filled_and_large_or_open_ones_stay) {
  Planes mask(1, 60, 60);
  rectangle(mask, 5, 5, 50, 50, 1);
  rectangle(mask, 9, 9, 5, 5, 0.8F);  // the soft rim of a hole
  rectangle(mask, 10, 10, 3, 3, 0);
  rectangle(mask, 25, 25, 20, 20, 0);  // 16 % of the area
  rectangle(mask, 52, 50, 8, 2, 0);    // opens to the border
  const Planes out = without_holes(mask, 0.03F);
  for (index_t y = 8; y < 15; ++y)
    for (index_t x = 8; x < 15; ++x) EXPECT_EQ(out.row(0, y)[x], 1);
  EXPECT_EQ(out.row(0, 30)[30], 0);
  EXPECT_EQ(out.row(0, 53)[50], 0);
  EXPECT_EQ(without_holes(mask, 0.2F).row(0, 30)[30], 1);
  EXPECT_EQ(without_holes(mask, 0).values, mask.values);
}

TEST(WithoutHoles, what_the_network_is_sure_of_stays) {
  Planes mask(1, 60, 60, 1), seen = mask;
  rectangle(mask, 10, 10, 5, 5, 0);
  rectangle(seen, 10, 10, 5, 5, 0.05F);
  rectangle(mask, 30, 30, 5, 5, 0);
  rectangle(seen, 30, 30, 5, 5, 0.3F);
  const Planes out = without_holes(mask, 0.03F, seen);
  EXPECT_EQ(out.row(0, 12)[12], 0);
  EXPECT_EQ(out.row(0, 32)[32], 1);
  EXPECT_EQ(clean(seen, {}).mask.row(0, 12)[12], 0);
  EXPECT_EQ(clean(seen, {}).mask.row(0, 32)[32], 1);
}

TEST(WithoutHoles, a_corner_lets_nothing_through) {
  Planes mask(1, 5, 5, 1);
  mask.row(0, 2)[2] = mask.row(0, 1)[1] = mask.row(0, 0)[0] = 0;  // a diagonal to the border
  const Planes out = without_holes(mask, 0.5F);
  EXPECT_EQ(out.row(0, 2)[2], 1);
  EXPECT_EQ(out.row(0, 1)[1], 1);
  EXPECT_EQ(out.row(0, 0)[0], 0);
}

TEST(FindPerson, needs_area_and_confidence) {
  Planes mask(1, 20, 20);
  EXPECT_FALSE(find_person(mask, {}).found);
  EXPECT_EQ(find_person(mask, {}).confidence, 0);
  rectangle(mask, 5, 5, 10, 10, 0.9F);
  const Person person = find_person(mask, {});
  EXPECT_TRUE(person.found);
  EXPECT_DOUBLE_EQ(person.area, 0.25);
  EXPECT_NEAR(person.confidence, 0.9, 1e-6);
  EXPECT_FALSE(find_person(mask, {.least_area = 0.26F}).found);
  EXPECT_FALSE(find_person(mask, {.least_confidence = 0.95F}).found);
}

TEST(Clean, a_mask_that_is_clean_already_stays) {
  Planes mask(1, 32, 32);
  rectangle(mask, 8, 8, 16, 12, 1);
  const CleanMask cleaned = clean(mask, {});
  EXPECT_EQ(cleaned.mask.values, mask.values);
  EXPECT_TRUE(cleaned.person.found);
}

TEST(Clean, specks_hairs_and_cracks_go) {
  Planes wanted(1, 48, 48);
  rectangle(wanted, 8, 8, 30, 24, 1);
  Planes mask = wanted;
  rectangle(mask, 20, 8, 1, 24, 0);     // a crack
  rectangle(mask, 10, 32, 1, 16, 1);    // a hair
  rectangle(mask, 40, 42, 3, 3, 0.9F);  // a speck
  EXPECT_EQ(clean(mask, {}).mask.values, wanted.values);
}

TEST(Clean, a_person_at_the_picture_s_edge_is_not_eaten) {
  Planes mask(1, 32, 32);
  rectangle(mask, 10, 0, 22, 32, 1);
  EXPECT_EQ(clean(mask, {.open = 3, .close = 3}).mask.values, mask.values);
}

TEST(Clean, only_specks_are_no_person) {
  Planes mask(1, 64, 64);
  rectangle(mask, 10, 10, 4, 4, 1);
  EXPECT_FALSE(clean(mask, {}).person.found);
  EXPECT_EQ(clean(Planes(1, 64, 64, std::numeric_limits<float>::quiet_NaN()), {}).person.found, false);
}

TEST(Clean, options_are_checked) {
  EXPECT_EQ(error_of([] { clean(Planes(1, 4, 4), {.low = 2}); }), "--low: 2 is out of range; allowed: from 0 to 1");
  EXPECT_EQ(error_of([] { clean(Planes(1, 4, 4), {.low = 0.5F, .high = 0.25F}); }),
            "--high: 0.25 is out of range; allowed: from 0.5 to 1");
  EXPECT_EQ(error_of([] { clean(Planes(1, 4, 4), {.open = -1}); }),
            "--open: -1 is out of range; allowed: from 0 to 64");
}

}  // namespace
}  // namespace oriel::portrait
