#include "cli/tap_marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "statistic_rules.h"

namespace oriel::cli {
namespace {

bool skips_nan(const Problem& p) { return p.pool.nan == NanPolicy::omit && is_floating(p.dtype); }
bool looks_at_values(const Problem& p) { return p.pool.nodata || skips_nan(p); }

// The first element whose coordinates along the pooled axes are `places`.
const void* element_at(const ConstTensor& t, const Problem& p, const Extents& places) {
  index_t offset = 0;
  for (int i = 0; i < p.pooled; ++i) offset += places[i] * t.pitch[p.axes[static_cast<std::size_t>(i)]];
  return static_cast<const std::byte*>(t.data) + offset * size_bytes(t.dtype);
}

template <class T>
bool is_left_out(T value, const Problem& p) {
  if constexpr (is_floating_v<T>) {
    if (skips_nan(p) && std::isnan(static_cast<double>(value))) return true;
  }
  if (!p.pool.nodata) return false;
  T nodata{};
  detail::store(*p.pool.nodata, p.dtype, &nodata);
  if constexpr (std::is_same_v<T, bool8>) {
    return (value.byte != 0) == (nodata.byte != 0);
  } else if constexpr (is_floating_v<T>) {
    const auto a = static_cast<double>(value), b = static_cast<double>(nodata);
    return a == b || (std::isnan(a) && std::isnan(b));
  } else {
    return value == nodata;
  }
}

}  // namespace

TapMarks::TapMarks(const Problem& problem, const Elements& elements) : problem_(problem), elements_(elements) {
  // There is no first plane if an axis that is not pooled is empty.
  for (ConstTensor* const t : {&elements_.x, &elements_.mask, &elements_.y}) {
    if (t->given() && element_count(t->shape) == 0) *t = {};
  }
}

bool TapMarks::may_leave_out() const {
  return elements_.mask.given() || problem_.mask || problem_.weights || looks_at_values(problem_);
}

bool TapMarks::knows_all() const {
  if (problem_.weights || (problem_.mask && !elements_.mask.given())) return false;
  return elements_.x.given() || !looks_at_values(problem_);
}

bool TapMarks::in_footprint(const Extents& output, const Extents& places) const {
  const Footprint& footprint = problem_.pool.footprint;
  if (footprint.empty()) return true;
  index_t tap = 0;
  for (int i = 0; i < problem_.pooled; ++i) {
    const Axis& a = axis(i);
    tap = tap * a.kernel + (places[i] - a.start(output[i])) / a.dilation;
  }
  return footprint.taps[static_cast<std::size_t>(tap)] != 0;
}

bool TapMarks::is_valid(const Extents& places) const {
  if (elements_.mask.given() && *static_cast<const std::uint8_t*>(element_at(elements_.mask, problem_, places)) == 0)
    return false;
  if (!elements_.x.given() || !looks_at_values(problem_)) return true;
  return visit(problem_.dtype, [&]<class T>() {
    return !is_left_out(*static_cast<const T*>(element_at(elements_.x, problem_, places)), problem_);
  });
}

Mark TapMarks::at(const Extents& output, const Extents& places) const {
  Mark mark = Mark::tap;
  for (int i = 0; i < problem_.pooled; ++i) mark = both(mark, mark_at(axis(i), output[i], places[i]));
  if (mark == Mark::none || mark == Mark::skipped) return mark;
  if (!in_footprint(output, places)) return Mark::absent;
  return mark == Mark::tap && !is_valid(places) ? Mark::invalid : mark;
}

std::optional<TapCounts> TapMarks::count(const Extents& output) const {
  constexpr index_t most = 1 << 22;
  index_t places = 1;
  for (int i = 0; i < problem_.pooled; ++i)
    if (__builtin_mul_overflow(places, axis(i).width(output[i]), &places) || places > most) return std::nullopt;
  TapCounts counts;
  index_t valid = 0;
  each_tap(output, [&](const Extents&, Mark mark) {
    if (mark == Mark::absent) return;
    ++counts.taps;
    if (mark != Mark::tap && mark != Mark::invalid) return;
    ++counts.existing;
    if (mark == Mark::tap) ++valid;
  });
  if (knows_all()) counts.valid = valid;
  return counts;
}

// The window's middle tap along an axis, or the nearest one that exists.
static index_t middle_place(const Axis& a, index_t output) {
  const Range taps = a.taps(output);
  const index_t middle = (a.width(output) - 1) / 2;
  return a.at(output, taps.empty() ? middle : std::clamp(middle, taps.begin, taps.end - 1));
}

Extents places_of_slice(const Problem& problem, const Extents& output, index_t row, index_t column) {
  Extents places;
  for (int i = 0; i + 2 < problem.pooled; ++i)
    places.push_back(middle_place(problem.axis[static_cast<std::size_t>(i)], output[i]));
  places.push_back(row);
  places.push_back(column);
  return places;
}

std::string slice_text(const Problem& problem, const Extents& output) {
  std::string text;
  for (int i = 0; i + 2 < problem.pooled; ++i) {
    const auto n = static_cast<std::size_t>(i);
    text += fmt::format(", axis {} at {}", problem.axes[n], middle_place(problem.axis[n], output[i]));
  }
  return text;
}

std::string TapMarks::result(const Extents& output, index_t k) const {
  const ConstTensor& y = elements_.y;
  if (!y.given()) return "";
  const int lead = y.rank() - problem_.shape.size();  // 1 if there are several quantiles
  index_t offset = lead > 0 ? k * y.pitch[0] : 0;
  for (int i = 0; i < problem_.pooled; ++i)
    offset += output[i] * y.pitch[lead + problem_.axes[static_cast<std::size_t>(i)]];
  return visit(y.dtype, [&]<class T>() {
    const T value = static_cast<const T*>(y.data)[offset];
    if constexpr (std::is_same_v<T, bool8>)
      return std::string(value.byte != 0 ? "true" : "false");
    else if constexpr (is_floating_v<T>)
      return std::is_same_v<T, double> ? fmt::format("{}", static_cast<double>(value))
                                       : fmt::format("{}", static_cast<float>(value));
    else
      return fmt::format("{}", +value);
  });
}

}  // namespace oriel::cli
