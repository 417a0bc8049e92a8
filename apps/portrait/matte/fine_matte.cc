#include "apps/portrait/matte/fine_matte.h"

#include <algorithm>

#include "apps/portrait/image/resize.h"
#include "apps/portrait/image/rows.h"
#include "apps/portrait/matte/closed_form.h"
#include "apps/portrait/matte/colour_guess.h"

namespace oriel::portrait {

Planes trimap_of(const Planes& bounds, index_t height, index_t width, int threads) {
  Planes trimap = Planes::unfilled(1, height, width);
  const Enlarged rows(bounds, height, width);
  for_rows(height, threads, [&](index_t begin, index_t end) {
    std::vector<float> most(static_cast<std::size_t>(width));
    for (index_t y = begin; y < end; ++y) {
      float* const t = trimap.row(0, y);
      rows.row(0, y, t);
      rows.row(1, y, most.data());
      for (index_t x = 0; x < width; ++x) t[x] = t[x] >= 1 ? 1.0F : (most[static_cast<std::size_t>(x)] <= 0 ? 0 : 0.5F);
    }
  });
  return trimap;
}

Planes drawn_trimap(const Planes& drawn, index_t height, index_t width, int threads) {
  constexpr float near = 0.02F;
  Planes trimap = resized(drawn, height, width, threads);
  for (float& t : trimap.values) t = t >= 1 - near ? 1.0F : (t <= near ? 0.0F : 0.5F);
  return trimap;
}

Planes fine_matte(const Planes& colours, const Planes& trimap, const Planes& rough, int threads) {
  constexpr float colour_weight = 0.3F, rough_weight = 0.003F, alike_weight = 0.02F;
  ColourGuess by_colour = guess_by_colour(colours, trimap, colour_weight, threads);
  MattingProblem problem{colours, trimap, std::move(by_colour.guess), std::move(by_colour.weight)};
  for (std::size_t i = 0; i < rough.values.size(); ++i) {
    const float own = problem.weight.values[i], alike = by_colour.alike.values[i];
    const float other = rough_weight + alike_weight * alike * alike;
    problem.guess.values[i] = (own * problem.guess.values[i] + other * rough.values[i]) / (own + other);
    problem.weight.values[i] = own + other;
  }
  return closed_form_matte(problem, {}, threads);
}

}  // namespace oriel::portrait
