#include "apps/portrait/chain/background.h"

#include <gtest/gtest.h>

#include "scene.h"

namespace oriel::portrait {
namespace {

using Kind = Background::Kind;

std::vector<int> pixel(const Image& image, index_t y, index_t x) {
  const std::uint8_t* const p = image.row(y) + 3 * x;
  return {p[0], p[1], p[2]};
}

Image render_on(const Background& b, index_t height, index_t width) {
  return render(b, Image(height, width, 3), Planes(1, height, width));
}

TEST(Background, texts_are_understood) {
  EXPECT_EQ(parse_background("--background", "transparent").kind, Kind::transparent);
  EXPECT_EQ(parse_background("--background", "white").first, (Colour{255, 255, 255}));
  EXPECT_EQ(parse_background("--background", "#1e90fF").first, (Colour{0x1e, 0x90, 0xff}));
  EXPECT_EQ(parse_background("--background", "#fa0").first, (Colour{255, 170, 0}));
  EXPECT_EQ(parse_background("--background", "blur").radius, 20);
  EXPECT_EQ(parse_background("--background", "blur:7.5").radius, 7.5);
  const Background gradient = parse_background("--background", "gradient:#000,#00f,90");
  EXPECT_EQ(gradient.kind, Kind::gradient);
  EXPECT_EQ(gradient.second, (Colour{0, 0, 255}));
  EXPECT_EQ(gradient.angle, 90);
  EXPECT_EQ(parse_background("--background", "beach.jpg").kind, Kind::picture);
}

TEST(Background, bad_texts_are_named) {
  EXPECT_EQ(error_of([] { parse_background("--background", "#12345"); }),
            "--background: '#12345' is not a colour; allowed: #rgb, #rrggbb, white, black, grey, red, green, blue");
  EXPECT_EQ(error_of([] { parse_background("--background", "#12345g"); }).substr(0, 26), "--background: '#12345g' is");
  EXPECT_EQ(error_of([] { parse_background("--background", "blur:0"); }),
            "--background: the radius of 'blur:0' is not understood; allowed: a number from 1 to 1000");
  EXPECT_EQ(error_of([] { parse_background("--background", "blur:nan"); }).substr(0, 30),
            "--background: the radius of 'b");
  EXPECT_EQ(error_of([] { parse_background("background", "blur:x"); }).substr(0, 27), "background: the radius of '");
  EXPECT_EQ(error_of([] { parse_background("--background", "gradient:#000"); }).substr(0, 48),
            "--background: 'gradient:#000' is not a gradient;");
}

TEST(Background, a_colour_is_everywhere) {
  const Image out = render_on({.kind = Kind::colour, .first = {1, 2, 3}}, 3, 4);
  for (std::size_t i = 0; i < out.bytes.size(); ++i) EXPECT_EQ(out.bytes[i], i % 3 + 1);
}

TEST(Background, a_gradient_goes_from_corner_to_corner) {
  const Background right{.kind = Kind::gradient, .first = {0, 0, 0}, .second = {200, 100, 50}, .angle = 90};
  const Image out = render_on(right, 2, 100);
  EXPECT_EQ(pixel(out, 0, 0), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(pixel(out, 1, 99), (std::vector<int>{199, 100, 50}));
  EXPECT_EQ(pixel(out, 0, 50), pixel(out, 1, 50));
  for (index_t x = 1; x < 100; ++x) EXPECT_GE(pixel(out, 0, x)[0], pixel(out, 0, x - 1)[0]);
  Background down = right;
  down.angle = 180;
  const Image vertical = render_on(down, 100, 2);
  EXPECT_EQ(pixel(vertical, 99, 0), (std::vector<int>{199, 100, 50}));
}

std::shared_ptr<const Image> stripes() {  // left half red, right half blue, twice as wide as high
  auto image = std::make_shared<Image>(20, 40, 3);
  for (index_t y = 0; y < 20; ++y)
    for (index_t x = 0; x < 40; ++x) image->row(y)[3 * x + (x < 20 ? 0 : 2)] = 255;
  return image;
}

TEST(Background, a_picture_covers) {
  const Image out = render_on({.kind = Kind::picture, .picture = stripes()}, 40, 40);
  EXPECT_EQ(pixel(out, 0, 0), (std::vector<int>{255, 0, 0}));
  EXPECT_EQ(pixel(out, 39, 39), (std::vector<int>{0, 0, 255}));
  EXPECT_EQ(pixel(out, 20, 18), (std::vector<int>{255, 0, 0}));
  EXPECT_EQ(pixel(out, 20, 21), (std::vector<int>{0, 0, 255}));
}

TEST(Background, a_picture_is_contained) {
  const Image out = render_on(
      {.kind = Kind::picture, .first = {9, 9, 9}, .fit = Background::Fit::contain, .picture = stripes()}, 40, 40);
  EXPECT_EQ(pixel(out, 9, 20), (std::vector<int>{9, 9, 9}));
  EXPECT_EQ(pixel(out, 10, 0), (std::vector<int>{255, 0, 0}));
  EXPECT_EQ(pixel(out, 29, 39), (std::vector<int>{0, 0, 255}));
  EXPECT_EQ(pixel(out, 30, 39), (std::vector<int>{9, 9, 9}));
}

TEST(Background, blur_takes_nothing_of_the_person_along) {
  const Scene scene = disc_scene(200, 300, 50, 2, {255, 0, 0}, {0, 120, 200});
  const Image out = render({.kind = Kind::blur, .radius = 15}, scene.image, scene.alpha);
  int most = 0;
  for (index_t y = 0; y < 200; ++y)
    for (index_t x = 0; x < 300; ++x)
      if (scene.alpha.row(0, y)[x] == 0) most = std::max(most, pixel(out, y, x)[0]);
  EXPECT_LT(most, 12);  // a plain blur would bring 100 and more of the red along
}

TEST(Background, blur_of_a_radius_levels_what_is_finer) {
  Image board(120, 120, 3);
  for (index_t y = 0; y < 120; ++y)
    for (index_t x = 0; x < 120; ++x)
      for (index_t c = 0; c < 3; ++c) board.row(y)[3 * x + c] = (x / 4 + y / 4) % 2 == 0 ? 255 : 0;
  const auto contrast = [&](double radius) {
    const Image out = render({.kind = Kind::blur, .radius = radius}, board, Planes(1, 120, 120));
    int least = 255, most = 0;
    for (index_t y = 40; y < 80; ++y)
      for (index_t x = 40; x < 80; ++x) {
        least = std::min(least, pixel(out, y, x)[0]);
        most = std::max(most, pixel(out, y, x)[0]);
      }
    return most - least;
  };
  EXPECT_GT(contrast(1), 80);
  EXPECT_LT(contrast(5), 10);
  EXPECT_LT(contrast(40), 10);
}

TEST(Background, blur_of_one_pixel) {
  Image one(1, 1, 3);
  one.bytes = {9, 99, 199};
  EXPECT_EQ(render({.kind = Kind::blur, .radius = 300}, one, Planes(1, 1, 1, 1)).bytes, one.bytes);
}

}  // namespace
}  // namespace oriel::portrait
