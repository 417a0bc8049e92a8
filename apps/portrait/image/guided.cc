#include <fmt/format.h>

#include <algorithm>

#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/rows.h"
#include "oriel/tensor.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "apps/portrait/image/guided.cc"
#include "hwy/foreach_target.h"
// (the include above compiles this file once per target)
#include "apps/portrait/image/guided.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace oriel::portrait {
namespace HWY_NAMESPACE {
namespace {

// Planes of the products whose means the fit needs.
enum Moment : std::uint8_t { R, G, B, P, RP, GP, BP, RR, RG, RB, GG, GB, BB, kMoments };

Planes moments(const Planes& guide, const Planes& mask, int threads) {
  Planes m = Planes::unfilled(kMoments, guide.height, guide.width);
  for_rows(guide.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y) {
      const float* const r = guide.row(0, y);
      const float* const g = guide.row(1, y);
      const float* const b = guide.row(2, y);
      const float* const p = mask.row(0, y);
      const auto product = [&](Moment which, const float* one, const float* other) {
        float* const out = m.row(which, y);
        for (index_t x = 0; x < guide.width; ++x) out[x] = one[x] * other[x];
      };
      std::copy(r, r + guide.width, m.row(R, y));
      std::copy(g, g + guide.width, m.row(G, y));
      std::copy(b, b + guide.width, m.row(B, y));
      std::copy(p, p + guide.width, m.row(P, y));
      product(RP, r, p);
      product(GP, g, p);
      product(BP, b, p);
      product(RR, r, r);
      product(RG, r, g);
      product(RB, r, b);
      product(GG, g, g);
      product(GB, g, b);
      product(BB, b, b);
    }
  });
  return m;
}

// The fit of one row of boxes: (covariance of the guide + epsilon) a = covariance with the mask, by LDL^T.
void fit_row(const Planes& mean, index_t y, double epsilon, Planes& fit) {
  const float* m[kMoments];
  for (int i = 0; i < kMoments; ++i) m[i] = mean.row(i, y);
  float* const to[4] = {fit.row(0, y), fit.row(1, y), fit.row(2, y), fit.row(3, y)};
  for (index_t x = 0; x < mean.width; ++x) {
    const double r = m[R][x], g = m[G][x], b = m[B][x], p = m[P][x];
    const double rr = m[RR][x] - r * r + epsilon, gg = m[GG][x] - g * g + epsilon, bb = m[BB][x] - b * b + epsilon;
    const double rg = m[RG][x] - r * g, rb = m[RB][x] - r * b, gb = m[GB][x] - g * b;
    const double rp = m[RP][x] - r * p, gp = m[GP][x] - g * p, bp = m[BP][x] - b * p;
    const double l1 = rg / rr, l2 = rb / rr;
    const double d1 = gg - l1 * rg;
    const double l3 = (gb - l2 * rg) / d1;
    const double d2 = bb - l2 * rb - l3 * l3 * d1;
    const double z1 = gp - l1 * rp;
    const double a_b = (bp - l2 * rp - l3 * z1) / d2;
    const double a_g = z1 / d1 - l3 * a_b;
    const double a_r = rp / rr - l1 * a_g - l2 * a_b;
    to[0][x] = static_cast<float>(a_r);
    to[1][x] = static_cast<float>(a_g);
    to[2][x] = static_cast<float>(a_b);
    to[3][x] = static_cast<float>(p - a_r * r - a_g * g - a_b * b);
  }
}

}  // namespace

Planes coefficients_of(const Planes& guide, const Planes& mask, index_t radius, float epsilon, int threads) {
  const Planes mean = box_mean(moments(guide, mask, threads), radius, threads);
  Planes fit = Planes::unfilled(4, guide.height, guide.width);
  for_rows(guide.height, threads, [&](index_t begin, index_t end) {
    for (index_t y = begin; y < end; ++y) fit_row(mean, y, epsilon, fit);
  });
  return box_mean(fit, radius, threads);
}

}  // namespace HWY_NAMESPACE
}  // namespace oriel::portrait
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace oriel::portrait {
namespace {
HWY_EXPORT(coefficients_of);
}

Planes guided_coefficients(const Planes& guide, const Planes& mask, index_t radius, float epsilon, int threads) {
  if (guide.count != 3 || mask.count != 1 || guide.height != mask.height || guide.width != mask.width)
    throw Error(
        fmt::format("guided filter: the mask has {}x{}x{} values and the guide {}x{}x{}; allowed: 1 and 3 "
                    "planes of one size",
                    mask.count, mask.height, mask.width, guide.count, guide.height, guide.width));
  return HWY_DYNAMIC_DISPATCH(coefficients_of)(guide, mask, radius, epsilon, threads);
}

Planes guided_filter(const Planes& guide, const Planes& mask, index_t radius, float epsilon, int threads) {
  const Planes fit = guided_coefficients(guide, mask, radius, epsilon, threads);
  Planes out(1, guide.height, guide.width);
  const std::size_t area = out.values.size();
  const float* const f = fit.values.data();
  const float* const g = guide.values.data();
  for (std::size_t i = 0; i < area; ++i)
    out.values[i] = f[i] * g[i] + f[area + i] * g[area + i] + f[2 * area + i] * g[2 * area + i] + f[3 * area + i];
  return out;
}

}  // namespace oriel::portrait
#endif
