#include "cli/pyramid_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace oriel::cli {
namespace {

constexpr index_t kBoxElements = 64;             // of the level, read at once
constexpr index_t kMostRead = index_t{1} << 26;  // elements below, for all samples
constexpr double kFloatTolerance = 1e-5;         // others add floats in other orders, and in f32

struct Numbers {
  Extents shape;
  std::vector<double> values;
};

// Elements without data are NaN.
Numbers read_box(io::VolumeIn& in, const Extents& begin, const Extents& shape, std::optional<double> nodata) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(shape) * size_bytes(in.dtype)));
  in.read(begin, Tensor(bytes.data(), in.dtype, shape));
  Numbers box{shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)))};
  visit(in.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < box.values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      box.values[i] = static_cast<double>(value);
      if (nodata && box.values[i] == *nodata) box.values[i] = std::nan("");
    }
  });
  return box;
}

// The elements of a window, in row-major order, and which of them is its middle.
struct Window {
  std::vector<double> taps;
  double centre = 0;
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

Window window_of(const Numbers& below, const Extents& output, const Extents& factor) {
  Window window;
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

bool is_near(double a, double b) {
  return std::fabs(a - b) <= kFloatTolerance * std::max(std::fabs(b), 1e-30) || a == b;
}

// The most frequent value: of several the lowest and the highest.
struct Modes {
  double lowest = 0, highest = 0;
};

Modes modes_of(const std::vector<double>& sorted) {
  Modes modes;
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
std::vector<double> without_zeros(std::vector<double> values) {
  if (std::any_of(values.begin(), values.end(), [](double v) { return v != 0; })) std::erase(values, 0);
  return values;
}

// Which methods make `y` of a window. A NaN in it either makes the result NaN or is left out;
// the largest of none is -infinity.
std::array<bool, kLevelMethods.size()> fitting(double y, Window window, bool floating) {
  std::vector<double>& taps = window.taps;
  const double first = taps.front();
  const auto is_nan = [](double v) { return std::isnan(v); };
  const bool had_nan = std::erase_if(taps, is_nan) > 0;
  if (taps.empty() || (had_nan && is_nan(y))) {
    const bool nan = is_nan(y), largest = nan || (taps.empty() && y == -HUGE_VAL),
               smallest = nan || (taps.empty() && y == HUGE_VAL);
    // Of integers it is an element without data.
    const bool rounded = nan && !floating;
    return {nan, rounded, rounded, nan && is_nan(first), nan && is_nan(window.centre), largest, smallest,
            nan, nan,     nan};
  }
  double sum = 0;
  for (const double v : taps) sum += v;
  const double mean = sum / static_cast<double>(taps.size());
  std::sort(taps.begin(), taps.end());
  const double low = taps[(taps.size() - 1) / 2], high = taps[taps.size() / 2];
  const Modes modes = modes_of(taps), others = modes_of(without_zeros(taps));
  const double middle = (low + high) / 2;
  return {floating ? is_near(y, mean) : y == std::nearbyint(mean),
          !floating && y == std::trunc(mean),
          !floating && y == std::floor(mean + 0.5),
          y == first,
          y == window.centre,
          y == taps.back(),
          y == taps.front(),
          y == modes.lowest || y == modes.highest,
          y == others.lowest || y == others.highest,
          y == low || y == high || is_near(y, middle) || (!floating && std::fabs(y - middle) <= 0.5)};
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

}  // namespace

MethodVotes sample_methods(io::VolumeIn& below, io::VolumeIn& level, const Extents& factor, index_t samples,
                           std::optional<double> nodata) {
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
    const Numbers from = read_box(below, begin, shape, nodata), to = read_box(level, place, box, nodata);
    std::size_t number = 0;
    for_each_place(box, [&](const Extents& output) {
      const auto fits = fitting(to.values[number++], window_of(from, output, factor), is_floating(level.dtype));
      for (std::size_t m = 0; m < fits.size(); ++m) votes.fitting[m] += fits[m] ? 1 : 0;
      ++votes.seen;
    });
  }
  return votes;
}

}  // namespace oriel::cli
