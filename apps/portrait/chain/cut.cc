#include "apps/portrait/chain/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/portrait/chain/foreground.h"
#include "apps/portrait/image/guided.h"
#include "apps/portrait/image/pooling.h"
#include "apps/portrait/image/resize.h"
#include "apps/portrait/image/rows.h"
#include "apps/portrait/matte/fine_matte.h"
#include "oriel/window.h"

namespace oriel::portrait {
namespace {

// The working size of what the mask says, and how many of its pixels a cell of the mask takes.
struct Working {
  index_t step = 1;  // pixels of the picture that one of its pixels stands for, along each axis
  Planes colours, mask;
  double cell = 1;
};

Working reduce(const Image& image, const Planes& mask, const ChainOptions& o) {
  Working w;
  while (ceil_div(image.height, w.step) * ceil_div(image.width, w.step) > o.edge.working_area) ++w.step;
  w.colours = colours_of(stepped(image, w.step, o.threads), o.threads);
  const index_t height = w.colours.height, width = w.colours.width;
  w.mask = resized(mask, height, width, o.threads);
  w.cell = std::max({static_cast<double>(height) / static_cast<double>(mask.height),
                     static_cast<double>(width) / static_cast<double>(mask.width), 1.0});
  return w;
}

// Two planes of the mask's size between which the filtered mask must stay: certainly the person, possibly the person.
Planes bounds_of(const Planes& mask, index_t cells, int threads) {
  Planes bounds(2, mask.height, mask.width);
  const Planes least = shrink(mask, cells, threads), most = grow(mask, cells, threads);
  std::copy(least.values.begin(), least.values.end(), bounds.row(0, 0));
  std::copy(most.values.begin(), most.values.end(), bounds.row(1, 0));
  return bounds;
}

// The same, but soft values far from where the mask passes a half are certain: a network's doubts about the middle of a
// coat are no edge.
Planes edge_bounds(const Planes& mask, index_t cells, index_t far, int threads) {
  Planes bounds = bounds_of(mask, cells, threads), half = mask;
  for (float& value : half.values) value = value >= 0.5F ? 1.0F : 0.0F;
  const Planes whole = bounds_of(half, far, threads);
  for (std::size_t i = 0; i < mask.values.size(); ++i) {
    float& least = bounds.values[i];
    float& most = bounds.values[mask.values.size() + i];
    if (whole.values[i] >= 1) least = most = 1;
    if (whole.values[mask.values.size() + i] <= 0) least = most = 0;
  }
  return bounds;
}

// What a filtered value means: its last twentieths are the filter's own haze.
struct Stretch {
  float haze = 0.05F;
  float operator()(float value) const { return std::clamp((value - haze) / (1 - 2 * haze), 0.0F, 1.0F); }
};

// Alpha of the rows [begin, end).
void alpha_rows(const Image& image, const Enlarged& fit, const Enlarged& bounds, Stretch stretched, index_t begin,
                index_t end, Planes& alpha) {
  const index_t width = image.width;
  std::vector<float> rows(static_cast<std::size_t>(6 * width));
  float* const least = rows.data();
  float* const most = least + width;
  float* const red = most + width;
  float* const green = red + width;
  float* const blue = green + width;
  float* const rest = blue + width;
  for (index_t y = begin; y < end; ++y) {
    float* const out = alpha.row(0, y);
    bounds.row(0, y, least);
    bounds.row(1, y, most);
    index_t first = width, last = -1;
    for (index_t x = 0; x < width; ++x) {
      out[x] = least[x];
      if (least[x] >= 1 || most[x] <= 0) continue;
      first = std::min(first, x);
      last = x;
    }
    if (last < first) continue;
    fit.row(0, y, red);
    fit.row(1, y, green);
    fit.row(2, y, blue);
    fit.row(3, y, rest);
    const std::uint8_t* const in = image.row(y);
    constexpr float scale = 1.0F / 255;
    for (index_t x = first; x <= last; ++x) {
      const std::uint8_t* const p = in + 3 * x;
      const float value = (red[x] * static_cast<float>(p[0]) + green[x] * static_cast<float>(p[1]) +
                           blue[x] * static_cast<float>(p[2])) *
                              scale +
                          rest[x];
      out[x] = std::min(std::max(stretched(value), least[x]), most[x]);
    }
  }
}

Planes alpha_of(const Image& image, const Planes& fit, const Planes& bounds, index_t step, Stretch stretch,
                int threads) {
  Planes alpha = Planes::unfilled(1, image.height, image.width);
  const Enlarged fit_rows(fit, image.height, image.width, step), bound_rows(bounds, image.height, image.width);
  for_rows(image.height, threads,
           [&](index_t begin, index_t end) { alpha_rows(image, fit_rows, bound_rows, stretch, begin, end, alpha); });
  return alpha;
}

// Alpha found in the working size, at full size: in each window it is linear in the colours.
Planes enlarged_alpha(const Image& image, const Working& w, Planes alpha, const Planes& trimap, int threads) {
  if (w.step == 1) return alpha;
  constexpr float epsilon = 1e-5F;
  Planes bounds(2, trimap.height, trimap.width);
  for (std::size_t i = 0; i < trimap.values.size(); ++i) {
    bounds.values[i] = trimap.values[i] >= 1 ? 1.0F : 0.0F;
    bounds.values[trimap.values.size() + i] = trimap.values[i] <= 0 ? 0.0F : 1.0F;
  }
  return alpha_of(image, guided_coefficients(w.colours, alpha, 1, epsilon, threads), bounds, w.step, {0}, threads);
}

Planes edge_alpha(const Image& image, const Planes& mask, const Working& w, index_t radius, const ChainOptions& o) {
  const double reach = static_cast<double>(radius) / w.cell;
  if (o.edge.matte == Matte::fast) {
    const Planes fit = guided_coefficients(w.colours, w.mask, radius, o.edge.epsilon, o.threads);
    const Planes bounds = bounds_of(mask, static_cast<index_t>(std::ceil(reach)), o.threads);
    return alpha_of(image, fit, bounds, w.step, {}, o.threads);
  }
  const index_t cells = std::lround(reach) + 1;
  const Planes bounds = edge_bounds(mask, cells, 2 * cells, o.threads);
  const Planes trimap = trimap_of(bounds, w.colours.height, w.colours.width, o.threads);
  return enlarged_alpha(image, w, fine_matte(w.colours, trimap, w.mask, o.threads), trimap, o.threads);
}

// 1 where alpha is neither 0 nor 1, and where colours are that such pixels are interpolated from.
Planes near_mixed(const Planes& alpha, int threads) {
  constexpr index_t reach = 2;
  Planes mixed = alpha;
  for (float& a : mixed.values) a = a > 0 && a < 1 ? 1.0F : 0.0F;
  return grow(mixed, reach, threads);
}

// By a trimap that somebody drew: nothing is cleaned.
Person trimap_person(const Planes& trimap) {
  const auto area = static_cast<double>(std::max<index_t>(trimap.area(), 1));
  const auto certain = std::count_if(trimap.values.begin(), trimap.values.end(), [](float t) { return t >= 1; });
  return {certain > 0, static_cast<double>(certain) / area, certain > 0 ? 1.0 : 0.0};
}

Planes feathered(Planes alpha, index_t radius, int threads) {
  if (radius <= 0) return alpha;
  const index_t half = (radius + 1) / 2;  // two boxes make a ramp without corners
  return box_mean(box_mean(alpha, half, threads), half, threads);
}

}  // namespace

void check(const EdgeOptions& o) {
  constexpr index_t most = 1000;
  for (const auto& [option, value] : {std::pair{"--radius", o.radius}, std::pair{"--feather", o.feather}})
    if (value < 0 || value > most)
      throw Error(fmt::format("{}: {} is out of range; allowed: from 0 to {}", option, value, most));
  if (!(o.epsilon > 0 && o.epsilon <= 1))
    throw Error(fmt::format("--epsilon: {} is out of range; allowed: above 0, at most 1", o.epsilon));
  if (o.working_area < 1) throw Error(fmt::format("--working-area: {}; allowed: at least 1", o.working_area));
}

Cut cut(const Image& image, const Planes& mask, const ChainOptions& o) {
  check(o.edge);
  if (image.channels != 3 || image.area() == 0 || mask.count != 1 || mask.area() == 0)
    throw Error(fmt::format("cut: the image has {}x{}x{} samples and the mask {}x{}x{}; allowed: HxWx3 and 1xHxW",
                            image.height, image.width, image.channels, mask.count, mask.height, mask.width));
  const CleanMask cleaned = o.edge.mask_is_trimap ? CleanMask{mask, {}} : clean(mask, o.mask, o.threads);
  Cut result{Planes(1, image.height, image.width), {}, 1, cleaned.person};
  if (!cleaned.person.found && !o.edge.mask_is_trimap) return result;

  const Working w = reduce(image, cleaned.mask, o);
  const index_t radius = o.edge.radius > 0 ? o.edge.radius : std::max<index_t>(std::lround(2 * w.cell), 2);
  if (o.edge.mask_is_trimap) {
    const Planes trimap = drawn_trimap(mask, w.colours.height, w.colours.width, o.threads);
    result.person = trimap_person(trimap);
    if (!result.person.found) return result;
    result.alpha = enlarged_alpha(image, w, fine_matte(w.colours, trimap, {}, o.threads), trimap, o.threads);
  } else {
    result.alpha = edge_alpha(image, cleaned.mask, w, radius, o);
  }
  if (o.edge.decontaminate) {
    const Planes alpha = stepped(result.alpha, w.step, o.threads);
    result.step = w.step;
    const Planes where = o.edge.feather > 0 ? Planes() : near_mixed(alpha, o.threads);
    result.colours = local_colours(w.colours, alpha, std::max<index_t>(radius / 2, 2), where, o.threads);
    if (o.edge.feather > 0) result.shares = result.alpha;
  }
  result.alpha = feathered(std::move(result.alpha), o.edge.feather, o.threads);
  return result;
}

}  // namespace oriel::portrait
