#include "cli/pyramid_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <variant>

namespace oriel::cli {
namespace {

constexpr index_t kBoxElements = 64;             // of the level, read at once
constexpr index_t kMostRead = index_t{1} << 26;  // elements below, for all samples
constexpr double kFloatTolerance = 1e-5;         // others add floats in other orders, and in f32
constexpr double kSumTolerance = 1e-6;           // of the sum of absolute values, which may cancel each other

// `Real` is long double if elements have 64 bits: the numbers of segments are often more than a double can tell apart.
template <class Real>
struct Numbers {
  Extents shape;
  std::vector<Real> values;
};

// Elements without data are NaN.
template <class Real>
Numbers<Real> read_box(io::VolumeIn& in, const Extents& begin, const Extents& shape, std::optional<Real> nodata) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(shape) * size_bytes(in.dtype)));
  in.read(begin, Tensor(bytes.data(), in.dtype, shape));
  Numbers<Real> box{shape, std::vector<Real>(static_cast<std::size_t>(element_count(shape)))};
  visit(in.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < box.values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      box.values[i] = static_cast<Real>(value);
      if (nodata && box.values[i] == *nodata) box.values[i] = std::numeric_limits<Real>::quiet_NaN();
    }
  });
  return box;
}

// The elements of a window, in row-major order, and which of them is its middle.
template <class Real>
struct Window {
  std::vector<Real> taps;
  Real centre = 0;
};

// Calls visit(place) for all places of a box.
template <class Visit>
void for_each_place(const Extents& shape, const Visit& visit_place) {
  Extents at = Extents::filled(shape.size(), 0);
  for (;;) {
    visit_place(at);
    int d = shape.size() - 1;
    for (; d >= 0 && ++at[d] == shape[d]; --d) at[d] = 0;
    if (d < 0) return;
  }
}

template <class Real>
Window<Real> window_of(const Numbers<Real>& below, const Extents& output, const Extents& factor) {
  Window<Real> window;
  const Extents pitch = dense_pitch(below.shape);
  Extents shape;
  index_t first = 0, centre = 0;
  for (int d = 0; d < output.size(); ++d) {
    const index_t begin = output[d] * factor[d];
    shape.push_back(std::min(factor[d], below.shape[d] - begin));
    first += begin * pitch[d];
    centre += std::min(factor[d] / 2, shape[d] - 1) * pitch[d];
  }
  for_each_place(shape, [&](const Extents& at) {
    index_t place = first;
    for (int d = 0; d < at.size(); ++d) place += at[d] * pitch[d];
    window.taps.push_back(below.values[static_cast<std::size_t>(place)]);
  });
  window.centre = below.values[static_cast<std::size_t>(first + centre)];
  return window;
}

template <class Real>
bool is_near(Real a, Real b, double tolerance, Real rounding = 0) {
  return std::fabs(a - b) <= std::max(Real{tolerance} * std::max(std::fabs(b), Real{1e-30}), rounding) || a == b;
}

// The most frequent value: of several the lowest and the highest.
template <class Real>
struct Modes {
  Real lowest = 0, highest = 0;
};

template <class Real>
Modes<Real> modes_of(const std::vector<Real>& sorted) {
  Modes<Real> modes;
  std::size_t most = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    if (end - i > most) modes.lowest = sorted[i];
    if (end - i >= most) modes.highest = sorted[i];
    most = std::max(most, end - i);
    i = end;
  }
  return modes;
}

// Without them, unless there is nothing else.
template <class Real>
std::vector<Real> without_zeros(std::vector<Real> values) {
  if (std::any_of(values.begin(), values.end(), [](Real v) { return v != 0; })) std::erase(values, Real{0});
  return values;
}

// What the dtype of a level can hold, and how exactly.
template <class Real>
struct Range {
  bool floating = false;
  Real lowest = 0, highest = 0;
  double tolerance = kFloatTolerance;  // relative
  double smallest = 0;                 // tolerance of the smallest numbers
  bool has_nodata = false;             // NaN is an element without data
};

template <class Real>
Range<Real> range_of(Dtype dtype) {
  Range<Real> range{is_floating(dtype), -HUGE_VAL, HUGE_VAL};
  if (dtype == Dtype::f16) {
    range.tolerance = 0x1p-10;
    range.smallest = 0x1p-24;
  }
  if (dtype == Dtype::bf16) range.tolerance = 0x1p-7;
  if (range.floating) return range;
  visit(dtype, [&]<class T>() {
    range.lowest = static_cast<Real>(std::numeric_limits<T>::lowest());
    range.highest = static_cast<Real>(std::numeric_limits<T>::max());
  });
  return range;
}

template <class Real>
Real variance_of(const std::vector<Real>& taps) {
  const auto n = static_cast<Real>(taps.size());
  Real sum = 0, squares = 0;
  for (const Real v : taps) sum += v - taps[0];
  for (const Real v : taps) squares += (v - taps[0] - sum / n) * (v - taps[0] - sum / n);
  return squares / n;
}

using Fits = std::array<bool, kLevelMethods.size()>;

// Of a window without valid elements, or with fewer than were asked for: no data, or what S6 says.
template <class Real>
Fits fitting_nothing(Real y, bool is_empty, bool first_is_nan, bool centre_is_nan, const Range<Real>& range) {
  const bool nan = std::isnan(y), zero = nan || (is_empty && y == 0);
  // Of integers NaN is an element without data.
  const bool rounded = nan && !range.floating;
  return {zero,
          rounded,
          rounded,
          nan && first_is_nan,
          nan && centre_is_nan,
          nan || (is_empty && y == range.lowest),
          nan || (is_empty && y == range.highest),
          nan,
          nan,
          nan,
          zero,
          zero,
          is_empty && y == 1,
          nan,
          nan};
}

// Which methods make `y` of a window. A NaN in it either makes the result NaN or is left out.
template <class Real>
Fits fitting(Real y, Window<Real> window, const Range<Real>& range) {
  std::vector<Real>& taps = window.taps;
  const Real first = taps.front();
  const auto is_nan = [](Real v) { return std::isnan(v); };
  const bool had_nan = std::erase_if(taps, is_nan) > 0, floating = range.floating;
  if (taps.empty() || (is_nan(y) && (had_nan || range.has_nodata)))
    return fitting_nothing(y, taps.empty(), is_nan(first) || range.has_nodata, is_nan(window.centre), range);
  const Real first_valid = taps.front();
  Real sum = 0, sizes = 0;
  for (const Real v : taps) {
    sum += v;
    sizes += std::fabs(v);
  }
  const Real rounding = Real{kSumTolerance} * sizes, count = static_cast<Real>(taps.size());
  const auto near = [&](Real value, Real error = 0) {
    return is_near(y, value, range.tolerance, std::max(error, Real{range.smallest}));
  };
  const Real mean = sum / count, variance = variance_of(taps);
  std::sort(taps.begin(), taps.end());
  const Real low = taps[(taps.size() - 1) / 2], high = taps[taps.size() / 2];
  const Modes<Real> modes = modes_of(taps), others = modes_of(without_zeros(taps));
  const Real middle = (low + high) / 2;
  const bool any = taps.front() != 0 || taps.back() != 0;
  const bool all = std::find(taps.begin(), taps.end(), Real{0}) == taps.end();
  return {floating ? near(mean, rounding / count) : y == std::nearbyint(mean),
          !floating && y == std::trunc(mean),
          !floating && y == std::floor(mean + Real{0.5}),
          y == first || y == first_valid,
          y == window.centre,
          y == taps.back(),
          y == taps.front(),
          y == modes.lowest || y == modes.highest,
          y == others.lowest || y == others.highest,
          y == low || y == high || (floating ? near(middle) : std::fabs(y - middle) <= Real{0.5}),
          floating ? near(sum, rounding) : y == std::clamp(sum, range.lowest, range.highest),
          y == (any ? 1 : 0),
          y == (all ? 1 : 0),
          floating && near(variance),
          floating && near(std::sqrt(variance))};
}

// Boxes of the level: the first and the last corner, and some between.
std::vector<Extents> places_of(const Extents& shape, const Extents& box, index_t count) {
  std::vector<Extents> places{Extents::filled(shape.size(), 0)};
  Extents last;
  for (int d = 0; d < shape.size(); ++d) last.push_back(shape[d] - box[d]);
  places.push_back(last);
  std::mt19937_64 random(1);
  while (static_cast<index_t>(places.size()) < count) {
    Extents place;
    for (int d = 0; d < shape.size(); ++d) {
      place.push_back(static_cast<index_t>(random() % static_cast<std::uint64_t>(last[d] + 1)));
    }
    places.push_back(place);
  }
  return places;
}

template <class Real>
MethodVotes sample(io::VolumeIn& below, io::VolumeIn& level, const Extents& factor, index_t samples,
                   const std::optional<Scalar>& no_data) {
  std::optional<Real> nodata;
  if (no_data) nodata = std::visit([](auto value) { return static_cast<Real>(value); }, *no_data);
  Range<Real> range = range_of<Real>(level.dtype);
  range.has_nodata = nodata.has_value();
  const index_t taps = element_count(factor);
  const index_t wanted = std::clamp(kMostRead / taps, index_t{2}, samples);
  Extents box = Extents::filled(factor.size(), 1);
  for (bool grown = true; grown;) {
    grown = false;
    for (int d = 0; d < box.size(); ++d) {
      if (2 * element_count(box) > std::min(kBoxElements, wanted / 2) || 2 * box[d] > level.shape[d]) continue;
      box[d] *= 2;
      grown = true;
    }
  }
  MethodVotes votes;
  for (const Extents& place : places_of(level.shape, box, ceil_div(wanted, element_count(box)))) {
    Extents begin, shape;
    for (int d = 0; d < place.size(); ++d) {
      begin.push_back(place[d] * factor[d]);
      shape.push_back(std::min(box[d] * factor[d], below.shape[d] - begin[d]));
    }
    const auto from = read_box<Real>(below, begin, shape, nodata), to = read_box<Real>(level, place, box, nodata);
    std::size_t number = 0;
    for_each_place(box, [&](const Extents& output) {
      const Fits fits = fitting(to.values[number++], window_of(from, output, factor), range);
      for (std::size_t m = 0; m < fits.size(); ++m) votes.fitting[m] += fits[m] ? 1 : 0;
      ++votes.seen;
    });
  }
  return votes;
}

}  // namespace

MethodVotes sample_methods(io::VolumeIn& below, io::VolumeIn& level, const Extents& factor, index_t samples,
                           const std::optional<Scalar>& nodata) {
  const bool is_wide = size_bytes(below.dtype) == 8 && !is_floating(below.dtype);
  return is_wide ? sample<long double>(below, level, factor, samples, nodata)
                 : sample<double>(below, level, factor, samples, nodata);
}

}  // namespace oriel::cli
