#include "apps/portrait/segment/letterbox.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scene.h"

namespace oriel::portrait {
namespace {

TEST(Letterbox, keeps_proportions_and_lies_in_the_middle) {
  const Letterbox wide = fit_letterbox(720, 1280, 256, 256);
  EXPECT_EQ(wide.inner_height, 144);
  EXPECT_EQ(wide.inner_width, 256);
  EXPECT_EQ(wide.top, 56);
  EXPECT_EQ(wide.left, 0);
  const Letterbox high = fit_letterbox(4000, 3000, 256, 256);
  EXPECT_EQ(high.inner_height, 256);
  EXPECT_EQ(high.inner_width, 192);
  EXPECT_EQ(high.left, 32);
}

TEST(Letterbox, any_picture_fits) {
  for (const index_t height : {1, 2, 17, 255, 256, 1000, 30000})
    for (const index_t width : {1, 3, 16, 300, 30000}) {
      const Letterbox box = fit_letterbox(height, width, 128, 192);
      EXPECT_GE(box.inner_height, 1);
      EXPECT_GE(box.inner_width, 1);
      EXPECT_LE(box.top + box.inner_height, 128);
      EXPECT_LE(box.left + box.inner_width, 192);
      EXPECT_TRUE(box.inner_height == 128 || box.inner_width == 192);
    }
}

TEST(Letterbox, around_the_picture_there_is_0) {
  Image image(16, 32, 3);
  for (index_t y = 0; y < 16; ++y)
    for (index_t x = 0; x < 32; ++x) image.row(y)[3 * x] = static_cast<std::uint8_t>(10 * y + 5);
  const Planes canvas = into_letterbox(image, fit_letterbox(16, 32, 32, 32));
  for (index_t y = 0; y < 32; ++y)
    EXPECT_FLOAT_EQ(canvas.row(0, y)[5], y < 8 || y > 23 ? 0 : static_cast<float>(10 * (y - 8) + 5) / 255) << y;
  EXPECT_EQ(canvas.row(1, 3)[3], 0);
}

TEST(Letterbox, what_goes_in_comes_out) {
  const Scene scene = disc_scene(90, 160, 30, 4, {255, 255, 255}, {0, 0, 0});
  const Letterbox box = fit_letterbox(90, 160, 64, 64);
  const Planes seen = out_of_letterbox(into_letterbox(scene.image, box), box);
  EXPECT_EQ(seen.height, 36);
  EXPECT_EQ(seen.width, 64);
  Planes red(1, seen.height, seen.width);
  std::copy(seen.row(0, 0), seen.row(1, 0), red.row(0, 0));
  EXPECT_LT(mean_difference(red, coarse(scene.alpha, 36, 64)), 0.03);
}

TEST(Letterbox, sizes_must_be_multiples_of_16) {
  EXPECT_EQ(error_of([] { fit_letterbox(5, 5, 100, 128); }),
            "letterbox: the network's size is 128x100; allowed: multiples of 16");
  EXPECT_EQ(error_of([] { fit_letterbox(5, 0, 128, 128); }),
            "letterbox: the image has 0x5 pixels; allowed: at least 1x1");
}

}  // namespace
}  // namespace oriel::portrait
