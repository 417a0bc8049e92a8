// Matting against a dense solution in double, and on scenes whose alpha is known.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "apps/portrait/chain/cut.h"
#include "apps/portrait/image/guided.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/matte/closed_form.h"
#include "apps/portrait/matte/colour_guess.h"
#include "apps/portrait/matte/fine_matte.h"
#include "forced_target.h"
#include "scene.h"

namespace oriel::portrait {
namespace {

constexpr Colour kDark{60, 40, 30}, kGreen{40, 200, 60};
using Matrix = std::vector<std::vector<double>>;

// x of a x = b, by elimination with pivots.
std::vector<double> solved(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

// The matting Laplacian as its paper writes it, pixel by pixel.
Matrix dense_laplacian(const Planes& colours, double epsilon) {
  const auto area = static_cast<std::size_t>(colours.area());
  Matrix l(area, std::vector<double>(area));
  for (index_t y = 1; y + 1 < colours.height; ++y)
    for (index_t x = 1; x + 1 < colours.width; ++x) {
      std::array<std::size_t, 9> pixels;
      std::array<std::array<double, 3>, 9> away;
      std::array<double, 3> mean{};
      for (std::size_t k = 0; k < 9; ++k) {
        pixels[k] = static_cast<std::size_t>((y + static_cast<index_t>(k) / 3 - 1) * colours.width + x +
                                             static_cast<index_t>(k) % 3 - 1);
        for (std::size_t c = 0; c < 3; ++c) mean[c] += away[k][c] = colours.values[c * area + pixels[k]];
      }
      Matrix covariance(3, std::vector<double>(3));
      for (std::size_t k = 0; k < 9; ++k)
        for (std::size_t c = 0; c < 3; ++c) away[k][c] -= mean[c] / 9;
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t d = 0; d < 3; ++d) {
          for (std::size_t k = 0; k < 9; ++k) covariance[c][d] += away[k][c] * away[k][d] / 9;
          if (c == d) covariance[c][d] += epsilon / 9;
        }
      for (std::size_t j = 0; j < 9; ++j) {
        const std::vector<double> v = solved(covariance, {away[j][0], away[j][1], away[j][2]});
        for (std::size_t i = 0; i < 9; ++i)
          l[pixels[i]][pixels[j]] +=
              (i == j ? 1 : 0) - (1 + away[i][0] * v[0] + away[i][1] * v[1] + away[i][2] * v[2]) / 9;
      }
    }
  return l;
}

Planes dense_matte(const MattingProblem& p, double epsilon) {
  Matrix a = dense_laplacian(p.colours, epsilon);
  std::vector<double> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float t = p.trimap.values[i];
    if (t <= 0 || t >= 1) {
      std::fill(a[i].begin(), a[i].end(), 0.0);
      a[i][i] = 1;
      b[i] = t;
    } else {
      a[i][i] += p.weight.values[i];
      b[i] = p.weight.values[i] * p.guess.values[i];
    }
  }
  const std::vector<double> x = solved(a, b);
  Planes out(1, p.colours.height, p.colours.width);
  for (std::size_t i = 0; i < x.size(); ++i) out.values[i] = std::clamp(static_cast<float>(x[i]), 0.0F, 1.0F);
  return out;
}

// Noise with some known values at both ends.
MattingProblem noisy(index_t height, index_t width, float weight) {
  MattingProblem p{noise(3, height, width, 4), Planes(1, height, width, 0.5F), noise(1, height, width, 8),
                   Planes(1, height, width, weight)};
  for (index_t y = 0; y < height; ++y) {
    p.trimap.row(0, y)[0] = 0;
    p.trimap.row(0, y)[width - 1] = 1;
  }
  return p;
}

// Strands one and a half pixels thin that leave a disc of their colour.
Scene hairy(index_t height, index_t width, double radius) {
  Scene s = disc_scene(height, width, radius, 1.5, kDark, kGreen);
  for (index_t y = 0; y < height; ++y)
    for (index_t x = 0; x < width; ++x) {
      const auto at = static_cast<std::size_t>(y * width + x);
      const double v = static_cast<double>(y) + 0.5 - static_cast<double>(height) / 2;
      const double u = static_cast<double>(x) + 0.5 - static_cast<double>(width) / 2;
      const double away = std::hypot(u, v), angle = std::atan2(v, u) / (2 * 3.14159265358979323846) * 72;
      const double off = std::abs(angle - std::round(angle)) / 72 * 2 * 3.14159265358979323846 * away;
      const double strand = away < radius * 1.2 ? std::clamp(0.75 - off + 0.5, 0.0, 1.0) : 0;
      const double alpha = std::max(static_cast<double>(s.alpha.values[at]), strand);
      s.alpha.values[at] = static_cast<float>(alpha);
      for (std::size_t c = 0; c < 3; ++c)
        s.image.bytes[3 * at + c] = static_cast<std::uint8_t>(
            std::lround(alpha * s.person.bytes[3 * at + c] + (1 - alpha) * s.backdrop.bytes[3 * at + c]));
    }
  return s;
}

Planes trimap_around(const Planes& alpha, index_t radius) {
  const Planes least = naive_square(Square::least, alpha, radius), most = naive_square(Square::most, alpha, radius);
  Planes trimap(1, alpha.height, alpha.width, 0.5F);
  for (std::size_t i = 0; i < trimap.values.size(); ++i)
    trimap.values[i] = least.values[i] >= 1 ? 1.0F : (most.values[i] <= 0 ? 0.0F : 0.5F);
  return trimap;
}

TEST(Matting, is_the_solution_of_the_dense_system) {
  for (const auto& [height, width] : {std::pair<index_t, index_t>{7, 9}, {5, 37}, {20, 3}})
    for (const float weight : {0.05F, 1.0F}) {
      const MattingProblem p = noisy(height, width, weight);
      const Planes alpha = closed_form_matte(p, {.epsilon = 1e-3F, .iterations = 400});
      EXPECT_LT(greatest_difference(alpha, dense_matte(p, 1e-3)), 2e-4) << height << "x" << width << " " << weight;
    }
}

TEST(Matting, beginning_with_half_the_size_changes_the_way_not_the_solution) {
  const MattingProblem p = noisy(24, 26, 0.02F);
  const MattingOptions alone{.epsilon = 1e-3F, .iterations = 400, .least_side = 100};
  const MattingOptions halves{.epsilon = 1e-3F, .iterations = 400, .least_side = 4};
  EXPECT_LT(greatest_difference(closed_form_matte(p, alone), closed_form_matte(p, halves)), 2e-4);
}

TEST(Matting, threads_change_nothing) {
  const MattingProblem p = noisy(150, 170, 0.001F);
  EXPECT_EQ(closed_form_matte(p, {}, 1).values, closed_form_matte(p, {}, 3).values);
}

TEST(Matting, every_instruction_set_gives_the_same_bits) {
  const MattingProblem p = noisy(70, 83, 0.001F);
  const Planes expected = closed_form_matte(p), filtered = guided_coefficients(p.colours, p.guess, 3, 1e-3F, 1);
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  ASSERT_FALSE(targets.empty());
  for (const std::int64_t target : targets) {
    const test::ForcedTarget forced(target);
    EXPECT_EQ(closed_form_matte(p).values, expected.values) << hwy::TargetName(target);
    EXPECT_EQ(guided_coefficients(p.colours, p.guess, 3, 1e-3F, 1).values, filtered.values) << hwy::TargetName(target);
  }
}

TEST(Matting, what_is_known_stays) {
  MattingProblem p = noisy(40, 60, 0);
  for (index_t x = 0; x < 60; ++x) p.trimap.row(0, 20)[x] = x % 2 == 0 ? 1.0F : 0.0F;
  const Planes alpha = closed_form_matte(p);
  for (std::size_t i = 0; i < alpha.values.size(); ++i) {
    if (p.trimap.values[i] != 0.5F) {
      ASSERT_EQ(alpha.values[i], p.trimap.values[i]);
    }
    ASSERT_GE(alpha.values[i], 0);
    ASSERT_LE(alpha.values[i], 1);
  }
}

TEST(Matting, any_size_any_trimap_gives_numbers) {
  for (const auto& [height, width] :
       {std::pair<index_t, index_t>{1, 1}, {1, 40}, {40, 1}, {2, 2}, {3, 3}, {17, 16}, {50, 49}})
    for (const float known : {0.0F, 0.5F, 1.0F, std::numeric_limits<float>::quiet_NaN()}) {
      MattingProblem p{noise(3, height, width, 1), Planes(1, height, width, known), Planes(1, height, width, 0.25F),
                       Planes(1, height, width)};
      for (const float colour : {0.0F, 0.7F}) {
        for (const float value : closed_form_matte(p).values) {
          ASSERT_GE(value, 0) << height << "x" << width << " " << known;
          ASSERT_LE(value, 1);
        }
        std::fill(p.colours.values.begin(), p.colours.values.end(), colour);  // no window has any contrast
      }
    }
}

TEST(Matting, sizes_must_be_the_same) {
  EXPECT_EQ(error_of([] {
              closed_form_matte({Planes(3, 4, 5), Planes(1, 4, 4), Planes(1, 4, 5), Planes(1, 4, 5)});
            }),
            "matting: the colours are 3x4x5 values and the trimap 1x4x4; allowed: 3 and 1 planes of one size, as of "
            "guess and weight");
}

TEST(ColourGuess, tells_clear_colours_and_leaves_mixed_ones) {
  const Scene scene = disc_scene(160, 200, 50, 12, kDark, kGreen);
  const ColourGuess by = guess_by_colour(colours_of(scene.image), trimap_around(scene.alpha, 8), 0.5F);
  index_t sure = 0, mixed = 0;
  for (std::size_t i = 0; i < scene.alpha.values.size(); ++i) {
    const float alpha = scene.alpha.values[i];
    if (by.weight.values[i] > 0) {
      ++sure;
      EXPECT_NEAR(by.guess.values[i], alpha, 0.25F);
    }
    if (alpha > 0.3F && alpha < 0.7F) {
      ++mixed;
      EXPECT_EQ(by.weight.values[i], 0);
    }
    EXPECT_LE(by.weight.values[i], 0.5F);
  }
  EXPECT_GT(sure, 2000);
  EXPECT_GT(mixed, 500);
}

TEST(ColourGuess, says_nothing_if_both_look_the_same) {
  const Scene scene = disc_scene(160, 200, 50, 3, kDark, kDark);
  const ColourGuess by = guess_by_colour(colours_of(scene.image), trimap_around(scene.alpha, 8), 1);
  double sum = 0;
  for (const float weight : by.weight.values) sum += weight;
  EXPECT_LT(sum / 160 / 200, 0.001);
}

TEST(ColourGuess, says_nothing_if_what_is_near_and_what_is_far_disagree) {
  Planes colours(3, 40, 400), trimap(1, 40, 400);
  for (index_t y = 0; y < 40; ++y)
    for (index_t x = 0; x < 400; ++x) {
      trimap.row(0, y)[x] = x < 40 ? 1.0F : (x < 60 ? 0.5F : 0.0F);
      for (index_t c = 0; c < 3; ++c) colours.row(c, y)[x] = x < 40 ? 0.1F : (x < 60 || x >= 300 ? 0.25F : 1.0F);
    }
  for (const float weight : guess_by_colour(colours, trimap, 1).weight.values) ASSERT_EQ(weight, 0);
}

TEST(FineMatte, finds_strands_that_the_guided_filter_does_not) {
  const Scene scene = hairy(300, 340, 90);
  const Planes mask = coarse(scene.alpha, 75, 85);
  const Cut fast = cut(scene.image, mask, {}), fine = cut(scene.image, mask, {.edge = {.matte = Matte::fine}});
  EXPECT_TRUE(fine.person.found);
  EXPECT_LT(mean_difference(fine.alpha, scene.alpha), 0.5 * mean_difference(fast.alpha, scene.alpha));
  EXPECT_EQ(fine.alpha.row(0, 150)[170], 1);
  EXPECT_EQ(fine.alpha.row(0, 3)[3], 0);
}

TEST(FineMatte, doubts_of_the_network_far_from_the_edge_are_none) {
  const Scene scene = disc_scene(300, 340, 100, 2, kDark, kGreen);
  Planes mask = coarse(scene.alpha, 75, 85);
  for (index_t y = 30; y < 45; ++y)
    for (index_t x = 35; x < 50; ++x) mask.row(0, y)[x] = 0.62F;
  mask.row(0, 5)[5] = 0.4F;
  const Cut fine = cut(scene.image, mask, {.edge = {.matte = Matte::fine}});
  for (index_t y = 120; y < 180; ++y)
    for (index_t x = 140; x < 200; ++x) ASSERT_EQ(fine.alpha.row(0, y)[x], 1) << y << " " << x;
  for (index_t y = 0; y < 40; ++y)
    for (index_t x = 0; x < 40; ++x) ASSERT_EQ(fine.alpha.row(0, y)[x], 0) << y << " " << x;
}

TEST(FineMatte, of_large_images_follows_the_colours_at_full_size) {
  const Scene scene = hairy(300, 340, 90);
  const Planes mask = coarse(scene.alpha, 75, 85);
  const EdgeOptions small{.matte = Matte::fine, .working_area = 300 * 340 / 4};
  const Cut fast = cut(scene.image, mask, {}), fine = cut(scene.image, mask, {.edge = small});
  EXPECT_EQ(fine.step, 2);
  EXPECT_LT(mean_difference(fine.alpha, scene.alpha), 0.8 * mean_difference(fast.alpha, scene.alpha));
}

TEST(FineMatte, threads_change_nothing) {
  const Scene scene = hairy(300, 340, 90);
  const Planes mask = coarse(scene.alpha, 75, 85);
  const EdgeOptions fine{.matte = Matte::fine};
  EXPECT_EQ(cut(scene.image, mask, {.edge = fine, .threads = 1}).alpha.values,
            cut(scene.image, mask, {.edge = fine, .threads = 4}).alpha.values);
}

TEST(FineMatte, a_drawn_trimap_replaces_the_mask) {
  const Scene scene = hairy(300, 340, 90);
  const EdgeOptions drawn{.matte = Matte::fine, .mask_is_trimap = true};
  const Planes trimap = trimap_around(scene.alpha, 6);
  const Cut fine = cut(scene.image, trimap, {.edge = drawn});
  EXPECT_TRUE(fine.person.found);
  EXPECT_LT(mean_difference(fine.alpha, scene.alpha), 0.01);
  for (std::size_t i = 0; i < trimap.values.size(); ++i)
    if (trimap.values[i] != 0.5F) {
      ASSERT_EQ(fine.alpha.values[i], trimap.values[i]);
    }
  EXPECT_FALSE(cut(scene.image, Planes(1, 30, 34, 0.5F), {.edge = drawn}).person.found);  // white nowhere
}

TEST(FineMatte, any_size_and_any_mask_gives_numbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [height, width] : {std::pair<index_t, index_t>{1, 1}, {1, 300}, {500, 1}, {2, 3}, {17, 31}})
    for (const bool drawn : {false, true}) {
      Planes mask = noise(1, 16, 16, 9);
      mask.values[5] = nan;
      const Cut result = cut(
          noise_image(height, width, 3), mask,
          {.mask = {.least_area = 0, .least_confidence = 0}, .edge = {.matte = Matte::fine, .mask_is_trimap = drawn}});
      for (const float value : result.alpha.values) ASSERT_TRUE(value >= 0 && value <= 1) << height << "x" << width;
    }
}

}  // namespace
}  // namespace oriel::portrait
