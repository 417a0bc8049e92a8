#include "apps/portrait/matte/colour_guess.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/image/rows.h"
#include "oriel/window.h"

namespace oriel::portrait {
namespace {

constexpr index_t kStep = 8;  // pixels of a cell of the local models
// Planes of each of person and background: share of pixels known to be it, times colours, times their products.
enum Moment : std::uint8_t { N, R, G, B, RR, RG, RB, GG, GB, BB, kMoments };

Planes known_moments(const Planes& colours, const Planes& trimap, int threads) {
  Planes m(2 * kMoments, ceil_div(colours.height, kStep), ceil_div(colours.width, kStep));
  for_rows(m.height, threads, [&](index_t begin, index_t end) {
    for (index_t cell_y = begin; cell_y < end; ++cell_y)
      for (index_t cell_x = 0; cell_x < m.width; ++cell_x) {
        std::array<std::array<float, kMoments>, 2> sum{};
        const index_t bottom = std::min((cell_y + 1) * kStep, colours.height);
        const index_t right = std::min((cell_x + 1) * kStep, colours.width);
        for (index_t y = cell_y * kStep; y < bottom; ++y)
          for (index_t x = cell_x * kStep; x < right; ++x) {
            const float t = trimap.row(0, y)[x];
            if (!(t <= 0) && !(t >= 1)) continue;
            auto& s = sum[t >= 1 ? 0 : 1];
            const float r = colours.row(0, y)[x], g = colours.row(1, y)[x], b = colours.row(2, y)[x];
            const float terms[kMoments] = {1, r, g, b, r * r, r * g, r * b, g * g, g * b, b * b};
            for (std::size_t k = 0; k < kMoments; ++k) s[k] += terms[k];
          }
        const auto count = static_cast<float>((bottom - cell_y * kStep) * (right - cell_x * kStep));
        for (index_t side = 0; side < 2; ++side)
          for (index_t k = 0; k < kMoments; ++k)
            m.row(side * kMoments + k, cell_y)[cell_x] =
                sum[static_cast<std::size_t>(side)][static_cast<std::size_t>(k)] / count;
      }
  });
  return m;
}

// Of both sides the moments over boxes that grow until they hold some known pixels.
Planes grown_moments(const Planes& moments, int threads) {
  constexpr float some = 0.05F;
  constexpr int levels = 3;
  Planes out(moments.count, moments.height, moments.width);
  index_t radius = 3;
  for (int level = 0; level < levels; ++level, radius *= 3) {
    const Planes mean = box_mean(moments, radius, threads);
    for (index_t side = 0; side < 2; ++side)
      for (index_t y = 0; y < out.height; ++y)
        for (index_t x = 0; x < out.width; ++x) {
          const bool answered = out.row(side * kMoments + N, y)[x] > 0;
          if (answered || (mean.row(side * kMoments + N, y)[x] < some && level + 1 < levels)) continue;
          for (index_t k = 0; k < kMoments; ++k)
            out.row(side * kMoments + k, y)[x] = mean.row(side * kMoments + k, y)[x];
        }
  }
  return out;
}

struct Model {
  double mean[3], covariance[6];
};

Model model_of(const Planes& m, index_t side, index_t y, index_t x) {
  const auto value = [&](Moment k) { return static_cast<double>(m.row(side * kMoments + k, y)[x]); };
  const double n = std::max(value(N), 1e-9);
  const double r = value(R) / n, g = value(G) / n, b = value(B) / n;
  return {{r, g, b},
          {value(RR) / n - r * r, value(RG) / n - r * g, value(RB) / n - r * b, value(GG) / n - g * g,
           value(GB) / n - g * b, value(BB) / n - b * b}};
}

// Planes a_r, a_g, a_b, b of the linear function of colours that is 1 at the person's mean and 0 at the background's
// and separates them best, and how far apart they are in deviations, squared.
Planes discriminants(const Planes& moments) {
  constexpr double noise = 4e-4;  // variance of a camera's noise and of what means leave out
  Planes out(5, moments.height, moments.width);
  for (index_t y = 0; y < out.height; ++y)
    for (index_t x = 0; x < out.width; ++x) {
      if (moments.row(N, y)[x] <= 0 || moments.row(kMoments + N, y)[x] <= 0) continue;
      const Model person = model_of(moments, 0, y, x), behind = model_of(moments, 1, y, x);
      double c[6], d[3];
      for (std::size_t k = 0; k < 6; ++k) c[k] = person.covariance[k] + behind.covariance[k];
      for (std::size_t k = 0; k < 3; ++k) d[k] = person.mean[k] - behind.mean[k];
      const double rr = c[0] + noise, l1 = c[1] / rr, l2 = c[2] / rr;  // by LDL^T
      const double d1 = c[3] + noise - l1 * c[1];
      const double l3 = (c[4] - l2 * c[1]) / d1;
      const double d2 = c[5] + noise - l2 * c[2] - l3 * l3 * d1;
      const double z1 = d[1] - l1 * d[0];
      const double a2 = (d[2] - l2 * d[0] - l3 * z1) / d2;
      const double a1 = z1 / d1 - l3 * a2;
      const double a0 = d[0] / rr - l1 * a1 - l2 * a2;
      const double apart = std::max(a0 * d[0] + a1 * d[1] + a2 * d[2], 1e-9);
      out.row(0, y)[x] = static_cast<float>(a0 / apart);
      out.row(1, y)[x] = static_cast<float>(a1 / apart);
      out.row(2, y)[x] = static_cast<float>(a2 / apart);
      out.row(3, y)[x] = static_cast<float>(-(a0 * behind.mean[0] + a1 * behind.mean[1] + a2 * behind.mean[2]) / apart);
      out.row(4, y)[x] = static_cast<float>(apart);
    }
  return out;
}

// How often colours are those of the person, and of the background, as shares of what is known of each.
class Histograms {
 public:
  Histograms(const Planes& colours, const Planes& trimap) {
    double count[2] = {0, 0};
    for (index_t i = 0; i < colours.area(); ++i) {
      const float t = trimap.values[static_cast<std::size_t>(i)];
      if (!(t <= 0) && !(t >= 1)) continue;
      std::size_t bin = 0;
      for (index_t c = 0; c < 3; ++c)
        bin = bin * kBins +
              static_cast<std::size_t>(std::clamp(
                  colours.values[static_cast<std::size_t>(c * colours.area() + i)] * kBins, 0.0F, kBins - 1.0F));
      shares_[bin][t >= 1 ? 0 : 1] += 1;
      count[t >= 1 ? 0 : 1] += 1;
    }
    for (auto& bin : shares_)
      for (std::size_t side = 0; side < 2; ++side)
        bin[side] = static_cast<float>(bin[side] / std::max(count[side], 1.0));
  }

  // From -1, found in the background only, to 1; 0 if it is in neither. Trilinear between bins.
  float side_of(float r, float g, float b) const {
    constexpr float rare = 2e-5F;
    std::size_t at[3];
    float rest[3];
    const float in[3] = {r, g, b};
    for (std::size_t c = 0; c < 3; ++c) {
      const float place = std::clamp(in[c] * kBins - 0.5F, 0.0F, kBins - 1.0F);
      at[c] = std::min(static_cast<std::size_t>(place), std::size_t{kBins - 2});
      rest[c] = place - static_cast<float>(at[c]);
    }
    float person = 0, behind = 0;
    for (std::size_t corner = 0; corner < 8; ++corner) {
      const std::size_t u = corner & 1, v = corner >> 1 & 1, w = corner >> 2;
      const auto& bin = shares_[((at[0] + u) * kBins + at[1] + v) * kBins + at[2] + w];
      const float weight = (u ? rest[0] : 1 - rest[0]) * (v ? rest[1] : 1 - rest[1]) * (w ? rest[2] : 1 - rest[2]);
      person += weight * bin[0];
      behind += weight * bin[1];
    }
    return (person - behind) / (person + behind + rare);
  }

 private:
  static constexpr int kBins = 16;
  std::vector<std::array<float, 2>> shares_ = std::vector<std::array<float, 2>>(kBins * kBins * kBins);
};

// 0 up to a half, then up to 1 at 1.
float beyond_half(float value) { return std::clamp(2 * value - 1, 0.0F, 1.0F); }

}  // namespace

ColourGuess guess_by_colour(const Planes& colours, const Planes& trimap, float most, int threads) {
  constexpr float apart_enough = 20;
  const index_t height = colours.height, width = colours.width;
  ColourGuess out{Planes(1, height, width), Planes(1, height, width), Planes(1, height, width)};
  const Planes local = discriminants(grown_moments(known_moments(colours, trimap, threads), threads));
  const Enlarged rows(local, height, width, kStep);
  const Histograms histograms(colours, trimap);
  for_rows(height, threads, [&](index_t begin, index_t end) {
    std::vector<float> parts(static_cast<std::size_t>(5 * width));
    for (index_t y = begin; y < end; ++y) {
      const float* const t = trimap.row(0, y);
      if (std::all_of(t, t + width, [](float v) { return v <= 0 || v >= 1; })) continue;
      for (index_t k = 0; k < 5; ++k) rows.row(k, y, parts.data() + k * width);
      for (index_t x = 0; x < width; ++x) {
        if (t[x] <= 0 || t[x] >= 1) continue;
        const float* const p = parts.data() + x;
        const float r = colours.row(0, y)[x], g = colours.row(1, y)[x], b = colours.row(2, y)[x];
        const float value = std::clamp(p[0] * r + p[width] * g + p[2 * width] * b + p[3 * width], 0.0F, 1.0F);
        const float side = histograms.side_of(r, g, b), apart = p[4 * width];
        out.alike.row(0, y)[x] = apart_enough / (apart + apart_enough);
        if ((side > 0) != (value > 0.5F)) continue;
        out.guess.row(0, y)[x] = side > 0 ? 1.0F : 0.0F;
        out.weight.row(0, y)[x] =
            most * beyond_half(std::abs(side)) * beyond_half(std::abs(2 * value - 1)) * apart / (apart + apart_enough);
      }
    }
  });
  return out;
}

}  // namespace oriel::portrait
