#include "apps/portrait/chain/mask.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/portrait/image/pooling.h"

namespace oriel::portrait {
namespace {

// Parts of a mask as numbers from 1 on, their areas, whether they reach the border; 0 belongs to none.
struct Parts {
  std::vector<int> part;
  std::vector<index_t> area = {0};
  std::vector<bool> at_border = {false};
};

// The parts of a mask that are inside (>= 0.5) or outside.
class Flood {
 public:
  Flood(const Planes& mask, bool inside, bool corners) : mask_(mask), inside_(inside), corners_(corners) {
    parts_.part.assign(static_cast<std::size_t>(mask.area()), 0);
    for (index_t i = 0; i < mask.area(); ++i)
      if (belongs(static_cast<std::size_t>(i))) fill(i, static_cast<int>(parts_.area.size()));
  }
  Parts take() { return std::move(parts_); }

 private:
  bool belongs(std::size_t at) const { return parts_.part[at] == 0 && (mask_.values[at] >= 0.5F) == inside_; }

  void fill(index_t start, int number) {
    std::vector<index_t> open = {start};
    parts_.part[static_cast<std::size_t>(start)] = number;
    parts_.area.push_back(0);
    parts_.at_border.push_back(false);
    while (!open.empty()) {
      const index_t here = open.back();
      open.pop_back();
      ++parts_.area.back();
      const index_t y = here / mask_.width, x = here % mask_.width;
      if (y == 0 || x == 0 || y == mask_.height - 1 || x == mask_.width - 1) parts_.at_border.back() = true;
      for (index_t v = std::max<index_t>(y - 1, 0); v <= std::min(y + 1, mask_.height - 1); ++v)
        for (index_t u = std::max<index_t>(x - 1, 0); u <= std::min(x + 1, mask_.width - 1); ++u) {
          const auto there = static_cast<std::size_t>(v * mask_.width + u);
          if ((!corners_ && v != y && u != x) || !belongs(there)) continue;
          parts_.part[there] = number;
          open.push_back(static_cast<index_t>(there));
        }
    }
  }

  const Planes& mask_;
  bool inside_, corners_;
  Parts parts_;
};

void check_share(const char* option, float value, float least, float most) {
  if (!(value >= least && value <= most))
    throw Error(fmt::format("{}: {} is out of range; allowed: from {} to {}", option, value, least, most));
}

}  // namespace

void check(const MaskOptions& o) {
  constexpr index_t most = 64;
  check_share("--low", o.low, 0, 1);
  check_share("--high", o.high, o.low, 1);
  check_share("--keep-parts", o.keep_parts, 0, 1);
  check_share("--fill-holes", o.fill_holes, 0, 1);
  check_share("--min-area", o.least_area, 0, 1);
  check_share("--min-confidence", o.least_confidence, 0, 1);
  for (const auto& [option, radius] : {std::pair{"--open", o.open}, std::pair{"--close", o.close}})
    if (radius < 0 || radius > most)
      throw Error(fmt::format("{}: {} is out of range; allowed: from 0 to {}", option, radius, most));
}

float soft_threshold(float value, float low, float high) {
  if (!(value > low)) return 0;
  if (value >= high) return 1;
  const float t = (value - low) / (high - low);
  return t * t * (3 - 2 * t);
}

Planes main_parts(const Planes& mask, float keep) {
  constexpr index_t margin = 2;
  const Parts parts = Flood(mask, true, true).take();
  const index_t largest = *std::max_element(parts.area.begin(), parts.area.end());
  const double least = static_cast<double>(keep) * static_cast<double>(largest);
  Planes kept(1, mask.height, mask.width);
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    const auto number = static_cast<std::size_t>(parts.part[i]);
    kept.values[i] = number != 0 && static_cast<double>(parts.area[number]) >= least ? 1.0F : 0.0F;
  }
  const Planes near = grow(kept, margin, 1);
  Planes out = mask;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const bool other = parts.part[i] != 0 && kept.values[i] == 0;
    if (other || near.values[i] == 0) out.values[i] = 0;
  }
  return out;
}

Planes without_holes(const Planes& mask, float share, const Planes& seen) {
  constexpr index_t rim = 2;
  constexpr double sure = 0.15;
  const Parts parts = Flood(mask, false, false).take();
  std::vector<double> sums(parts.area.size());
  for (std::size_t i = 0; i < seen.values.size(); ++i)
    sums[static_cast<std::size_t>(parts.part[i])] += static_cast<double>(seen.values[i]);
  const auto inside = std::count_if(mask.values.begin(), mask.values.end(), [](float v) { return v >= 0.5F; });
  const double most = static_cast<double>(share) * static_cast<double>(inside);
  Planes holes(1, mask.height, mask.width);
  for (std::size_t i = 0; i < holes.values.size(); ++i) {
    const auto number = static_cast<std::size_t>(parts.part[i]);
    const auto area = static_cast<double>(parts.area[number]);
    const bool small = number != 0 && !parts.at_border[number] && area < most;
    const bool doubtful = seen.area() == 0 || !(sums[number] < sure * area);
    holes.values[i] = small && doubtful ? 1.0F : 0.0F;
  }
  const Planes near = grow(holes, rim, 1);
  Planes out = mask;
  for (std::size_t i = 0; i < out.values.size(); ++i)
    if (holes.values[i] > 0 || (near.values[i] > 0 && out.values[i] >= 0.5F)) out.values[i] = 1;
  return out;
}

Person find_person(const Planes& mask, const MaskOptions& options) {
  double sum = 0;
  index_t seen = 0;
  for (const float value : mask.values)
    if (value >= 0.5F) {
      sum += value;
      ++seen;
    }
  Person person;
  person.area = mask.area() == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(mask.area());
  person.confidence = seen == 0 ? 0 : sum / static_cast<double>(seen);
  person.found = seen > 0 && person.area >= options.least_area && person.confidence >= options.least_confidence;
  return person;
}

CleanMask clean(const Planes& mask, const MaskOptions& options, int threads) {
  check(options);
  Planes curved = mask;
  for (float& value : curved.values) value = soft_threshold(value, options.low, options.high);
  const Planes whole =
      without_holes(main_parts(open(curved, options.open, threads), options.keep_parts), options.fill_holes, mask);
  Planes seen = mask;  // the network's own values where a part was kept
  for (std::size_t i = 0; i < seen.values.size(); ++i)
    if (whole.values[i] < 0.5F) seen.values[i] = 0;
  return {close(whole, options.close, threads), find_person(seen, options)};
}

}  // namespace oriel::portrait
