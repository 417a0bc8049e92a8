// The chain's pools and the guided filter against plain loops in double.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "apps/portrait/image/guided.h"
#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

TEST(Pooling, boxes_are_means_of_what_exists) {
  for (const index_t radius : {1, 2, 7, 40})
    for (const auto& [height, width] : {std::pair<index_t, index_t>{13, 17}, {1, 9}, {1, 1}, {30, 2}}) {
      const Planes x = noise(3, height, width, 5);
      EXPECT_LT(greatest_difference(box_mean(x, radius), naive_square(Square::mean, x, radius)), 3e-7)
          << radius << " " << height << "x" << width;
    }
}

TEST(Pooling, dilation_and_erosion_are_exact) {
  for (const index_t radius : {1, 3, 20}) {
    const Planes x = noise(2, 19, 23, 7);
    EXPECT_EQ(grow(x, radius).values, naive_square(Square::most, x, radius).values);
    EXPECT_EQ(shrink(x, radius).values, naive_square(Square::least, x, radius).values);
  }
}

TEST(Pooling, radius_0_changes_nothing) {
  const Planes x = noise(1, 5, 6, 1);
  EXPECT_EQ(box_mean(x, 0).values, x.values);
  EXPECT_EQ(open(x, 0).values, x.values);
  EXPECT_EQ(close(x, 0).values, x.values);
}

TEST(Pooling, opening_removes_what_is_thin_and_closing_fills_cracks) {
  Planes x(1, 20, 20);
  for (index_t y = 4; y < 16; ++y)
    for (index_t i = 4; i < 16; ++i) x.row(0, y)[i] = 1;
  const Planes square = x;
  for (index_t i = 0; i < 4; ++i) x.row(0, 8)[i] = 1;  // a hair one pixel thin
  EXPECT_EQ(open(x, 1).values, square.values);
  Planes cracked = square;
  for (index_t y = 4; y < 16; ++y) cracked.row(0, y)[9] = 0;
  EXPECT_EQ(close(cracked, 1).values, square.values);
}

TEST(Pooling, opening_and_closing_are_idempotent_and_bound_their_input) {
  const Planes x = noise(1, 24, 31, 3);
  for (const index_t radius : {1, 2}) {
    const Planes opened = open(x, radius), closed = close(x, radius);
    EXPECT_EQ(open(opened, radius).values, opened.values);
    EXPECT_EQ(close(closed, radius).values, closed.values);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      EXPECT_LE(opened.values[i], x.values[i]);
      EXPECT_GE(closed.values[i], x.values[i]);
    }
  }
}

TEST(Resize, enlarging_keeps_planes_that_rise_evenly) {
  Planes ramp(1, 6, 8);
  for (index_t y = 0; y < 6; ++y)
    for (index_t x = 0; x < 8; ++x) ramp.row(0, y)[x] = static_cast<float>(x) + 10 * static_cast<float>(y);
  const Planes large = resized(ramp, 12, 24);
  for (index_t y = 1; y < 11; ++y)
    for (index_t x = 3; x < 21; ++x) {
      const double wanted = (static_cast<double>(x) + 0.5) / 3 - 0.5 + 10 * ((static_cast<double>(y) + 0.5) / 2 - 0.5);
      EXPECT_NEAR(large.row(0, y)[x], wanted, 1e-4);
    }
  EXPECT_EQ(resized(ramp, 6, 8).values, ramp.values);
}

TEST(Resize, squares_hang_over_the_end_and_are_undone_in_place) {
  Planes ramp(1, 7, 11);
  for (index_t y = 0; y < 7; ++y)
    for (index_t x = 0; x < 11; ++x) ramp.row(0, y)[x] = static_cast<float>(x) + 20 * static_cast<float>(y);
  const Planes small = stepped(ramp, 4);
  EXPECT_EQ(small.height, 2);
  EXPECT_EQ(small.width, 3);
  EXPECT_FLOAT_EQ(small.row(0, 0)[0], 31.5F);
  EXPECT_FLOAT_EQ(small.row(0, 1)[2], 9 + 20 * 5);  // 3x3 values are left
  const Planes steps = stepped(noise(1, 8, 8, 3), 2);
  std::vector<float> row(8);
  Enlarged(steps, 8, 8, 2).row(0, 3, row.data());
  EXPECT_EQ(row[7], 0.75F * steps.row(0, 1)[3] + 0.25F * steps.row(0, 2)[3]);
  EXPECT_EQ(Enlarged(steps, 8, 8, 2).value(0, 3, 7), row[7]);
}

TEST(Resize, much_smaller_is_near_the_mean_of_what_a_pixel_covers) {
  const Scene scene = disc_scene(333, 517, 120, 2, {255, 255, 255}, {0, 0, 0});
  EXPECT_LT(mean_difference(smaller(scene.alpha, 32, 50), coarse(scene.alpha, 32, 50)), 0.012);
}

TEST(Resize, one_pixel_becomes_a_picture_of_it) {
  Image one(1, 1, 3);
  one.bytes = {10, 20, 30};
  const Image many = resized(one, 3, 5);
  for (std::size_t i = 0; i < many.bytes.size(); ++i) EXPECT_EQ(many.bytes[i], 10 * (i % 3 + 1));
}

TEST(Resize, halving_is_the_mean_of_four) {
  const Planes x = noise(1, 8, 10, 2);
  const Planes half = resized(x, 4, 5);
  for (index_t y = 0; y < 4; ++y)
    for (index_t i = 0; i < 5; ++i)
      EXPECT_NEAR(half.row(0, y)[i],
                  (x.row(0, 2 * y)[2 * i] + x.row(0, 2 * y)[2 * i + 1] + x.row(0, 2 * y + 1)[2 * i] +
                   x.row(0, 2 * y + 1)[2 * i + 1]) /
                      4,
                  1e-6);
}

// The filter as the paper writes it, every box summed for itself, the 3x3 system by Cramer's rule.
struct Naive {
  const Planes& guide;
  const Planes& mask;
  index_t radius;
  double epsilon;

  template <class F>
  double mean(index_t y, index_t x, const F& f) const {
    double sum = 0, count = 0;
    for (index_t v = std::max<index_t>(y - radius, 0); v <= std::min(y + radius, guide.height - 1); ++v)
      for (index_t u = std::max<index_t>(x - radius, 0); u <= std::min(x + radius, guide.width - 1); ++u, ++count)
        sum += f(v, u);
    return sum / count;
  }

  static double determinant(const std::array<std::array<double, 3>, 3>& m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  }

  std::array<double, 4> fit(index_t y, index_t x) const {
    std::array<double, 3> colour{}, with_mask{};
    const double p = mean(y, x, [&](index_t v, index_t u) { return mask.row(0, v)[u]; });
    for (index_t c = 0; c < 3; ++c)
      colour[static_cast<std::size_t>(c)] = mean(y, x, [&](index_t v, index_t u) { return guide.row(c, v)[u]; });
    std::array<std::array<double, 3>, 3> m{};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto of = [&](std::size_t c, index_t v, index_t u) {
        return guide.row(static_cast<index_t>(c), v)[u] - colour[c];
      };
      with_mask[i] = mean(y, x, [&](index_t v, index_t u) { return of(i, v, u) * (mask.row(0, v)[u] - p); });
      for (std::size_t j = 0; j < 3; ++j)
        m[i][j] = mean(y, x, [&](index_t v, index_t u) { return of(i, v, u) * of(j, v, u); }) + (i == j ? epsilon : 0);
    }
    std::array<double, 4> a{};
    a[3] = p;
    for (std::size_t i = 0; i < 3; ++i) {
      auto replaced = m;
      for (std::size_t j = 0; j < 3; ++j) replaced[j][i] = with_mask[j];
      a[i] = determinant(replaced) / determinant(m);
      a[3] -= a[i] * colour[i];
    }
    return a;
  }

  Planes filtered() const {
    std::vector<std::array<double, 4>> fits;
    for (index_t y = 0; y < guide.height; ++y)
      for (index_t x = 0; x < guide.width; ++x) fits.push_back(fit(y, x));
    Planes out(1, guide.height, guide.width);
    for (index_t y = 0; y < guide.height; ++y)
      for (index_t x = 0; x < guide.width; ++x) {
        double value = 0;
        for (std::size_t i = 0; i < 4; ++i)
          value +=
              mean(y, x, [&](index_t v, index_t u) { return fits[static_cast<std::size_t>(v * guide.width + u)][i]; }) *
              (i < 3 ? static_cast<double>(guide.row(static_cast<index_t>(i), y)[x]) : 1.0);
        out.row(0, y)[x] = static_cast<float>(value);
      }
    return out;
  }
};

TEST(GuidedFilter, is_the_paper_s) {
  for (const auto& [radius, epsilon] : {std::pair{1, 1e-2F}, std::pair{3, 1e-3F}, std::pair{5, 1e-4F}}) {
    const Planes guide = noise(3, 14, 18, 11), mask = noise(1, 14, 18, 12);
    EXPECT_LT(greatest_difference(guided_filter(guide, mask, radius, epsilon),
                                  Naive{guide, mask, radius, epsilon}.filtered()),
              2e-5)
        << radius;
  }
}

TEST(GuidedFilter, is_the_paper_s_on_a_guide_without_contrast) {
  const Planes guide(3, 9, 9, 0.5F), mask = noise(1, 9, 9, 4);
  const Planes wanted = box_mean(box_mean(mask, 2), 2);  // slopes are 0: only the means are left
  EXPECT_LT(greatest_difference(guided_filter(guide, mask, 2, 1e-4F), wanted), 1e-5);
}

TEST(GuidedFilter, a_constant_mask_stays_so) {
  const Planes guide = noise(3, 20, 20, 8);
  for (const float value : {0.0F, 0.25F, 1.0F})
    EXPECT_LT(greatest_difference(guided_filter(guide, Planes(1, 20, 20, value), 4, 1e-4F), Planes(1, 20, 20, value)),
              1e-5);
}

TEST(GuidedFilter, an_edge_of_the_picture_makes_a_blurred_mask_hard) {
  Planes guide(3, 16, 40, 0.2F), mask(1, 16, 40);
  for (index_t y = 0; y < 16; ++y)
    for (index_t x = 0; x < 40; ++x) {
      if (x >= 20)
        for (index_t c = 0; c < 3; ++c) guide.row(c, y)[x] = 0.8F;
      mask.row(0, y)[x] = std::clamp((static_cast<float>(x) - 15.5F) / 8, 0.0F, 1.0F);  // soft over 8 pixels
    }
  const Planes out = guided_filter(guide, mask, 8, 1e-4F);
  const double before = mask.row(0, 8)[20] - mask.row(0, 8)[19], after = out.row(0, 8)[20] - out.row(0, 8)[19];
  EXPECT_LT(before, 0.2);
  EXPECT_GT(after, 0.6);
}

TEST(GuidedFilter, sizes_must_be_the_same) {
  EXPECT_EQ(error_of([] { guided_filter(Planes(3, 4, 5), Planes(1, 5, 4), 1, 0.1F); }),
            "guided filter: the mask has 1x5x4 values and the guide 3x4x5; allowed: 1 and 3 planes of one size");
}

TEST(GuidedFilter, threads_change_nothing) {
  const Planes guide = noise(3, 33, 47, 21), mask = noise(1, 33, 47, 22);
  const Planes one = guided_filter(guide, mask, 4, 1e-3F, 1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(guided_filter(guide, mask, 4, 1e-3F, threads).values, one.values);
}

}  // namespace
}  // namespace oriel::portrait
