#include "reference/taps.h"

#include <algorithm>
#include <numeric>

namespace oriel::reference {

bool is_statistic(const Pooling& p) {
  return p.op > Op::lp || !p.footprint.empty() || p.nodata || p.fill || p.min_count != 0 || p.min_fraction != 0 ||
         p.result;
}

long double read(Dtype dtype, const void* data, index_t element) {
  return visit(dtype, [&]<class T>() -> long double {
    T v;
    std::memcpy(&v, static_cast<const std::byte*>(data) + element * static_cast<index_t>(sizeof(T)), sizeof(T));
    if constexpr (is_floating_v<T>)
      return static_cast<long double>(static_cast<double>(v));
    else
      return static_cast<long double>(as_integer(v));
  });
}

std::vector<std::size_t> Taps::numbers() const {
  std::vector<std::size_t> out;
  for (std::size_t t = 0; t < size(); ++t)
    if (valid[t]) out.push_back(t);
  return out;
}

Taps Source::window(const std::vector<index_t>& output) const {
  const Window read_by = window_of(pooling, lines, output);
  Taps taps;
  taps.sizes = read_by.sizes;
  taps.weighted = beside.weights != nullptr;
  std::vector<index_t> nominal, middle;
  for (std::size_t size : read_by.sizes) {
    nominal.push_back(static_cast<index_t>(size));
    middle.push_back((static_cast<index_t>(size) - 1) / 2);
  }
  taps.centre = static_cast<std::size_t>(flatten(nominal, middle));
  index_t counted = 0;
  for (std::size_t t = 0; t < read_by.elements.size(); ++t) {
    const index_t e = read_by.elements[t];
    const bool in_footprint = pooling.footprint.empty() || pooling.footprint[t] != 0;
    const bool exists = e >= 0 && in_footprint;
    bool valid = exists && (beside.mask == nullptr || beside.mask[e] != 0);
    const long double value = valid ? read(dtype, x, e) : 0;
    const double weight = valid && beside.weights != nullptr ? beside.weights[e] : 1;
    if (pooling.nodata) valid = valid && (std::isnan(*pooling.nodata) ? !std::isnan(value) : value != *pooling.nodata);
    valid = valid && weight != 0 && !(pooling.omit_nan && std::isnan(value));
    taps.valid.push_back(valid);
    taps.elements.push_back(e);
    taps.x.push_back(value);
    taps.weight.push_back(weight);
    taps.exist += exists ? 1 : 0;
    taps.count += valid ? 1 : 0;
    taps.nan = taps.nan || (valid && std::isnan(value));
    // Taps that an average counts with the padding: on every axis the first ones.
    bool counts = in_footprint;
    const std::vector<index_t> at = coordinates(nominal, static_cast<index_t>(t));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto o = static_cast<std::size_t>(output[static_cast<std::size_t>(pooling.axes[i])]);
      counts = counts && at[i] < lines[i].counted[o];
    }
    counted += counts ? 1 : 0;
  }
  taps.divisor = (pooling.count_include_pad ? counted : taps.exist) - (taps.exist - taps.count);
  if (pooling.divisor != 0) taps.divisor = pooling.divisor;
  return taps;
}

bool Source::too_few(const Taps& taps) const {
  index_t need = 1;
  switch (pooling.op) {
    case Op::max:
    case Op::min:
    case Op::avg:
    case Op::sum:
    case Op::lp:
    case Op::count:
    case Op::any:
    case Op::all:
    case Op::prod:
      need = 0;
      break;
    case Op::var:
    case Op::std:
      need = pooling.ddof + index_t{1};
      break;
    default:
      break;
  }
  const auto share = static_cast<index_t>(std::ceil(pooling.min_fraction * static_cast<double>(taps.exist)));
  return taps.count < std::max({pooling.min_count, share, need});
}

bool Source::sums_in_f64() const { return dtype == Dtype::f64 || result_dtype(pooling, dtype) == Dtype::f64; }

index_t extreme(const Taps& taps, bool largest) {
  index_t winner = -1;
  for (const std::size_t t : taps.numbers()) {
    const long double x = taps.x[t];
    const auto better = [&] {
      if (winner < 0 || std::isnan(x)) return true;
      const long double best = taps.x[static_cast<std::size_t>(winner)];
      return largest ? x > best : x < best;  // false if the best is NaN
    };
    if (better()) winner = static_cast<index_t>(t);
  }
  return winner;
}

namespace {

// The valid taps by value, -0 before +0, in scan order those of one value.
std::vector<std::size_t> sorted(const Taps& taps) {
  std::vector<std::size_t> order = taps.numbers();
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const long double x = taps.x[a], y = taps.x[b];
    return x < y || (x == 0 && y == 0 && std::signbit(x) && !std::signbit(y));
  });
  return order;
}

// h rounded, a half to the even neighbour.
std::size_t half_even(double h) {
  const double floor = std::floor(h), rest = h - floor;
  const auto low = static_cast<std::size_t>(floor);
  return rest > 0.5 || (rest == 0.5 && low % 2 == 1) ? low + 1 : low;
}

std::size_t by_weights(const Taps& taps, const std::vector<std::size_t>& order, double q) {
  double all = 0, up_to = 0;
  for (const std::size_t t : order) all += taps.weight[t];
  for (std::size_t i = 0; i < order.size(); ++i) {
    up_to += taps.weight[order[i]];
    if (up_to >= q * all) return i;
  }
  return order.size() - 1;
}

}  // namespace

Place place_of(const Pooling& p, const Taps& taps, std::size_t quantile) {
  const std::vector<std::size_t> order = sorted(taps);
  const std::size_t n = order.size();
  const auto at = [&](std::size_t i, std::size_t j, double share) { return Place{order[i], order[j], share}; };
  if (p.rank) {
    const index_t r = *p.rank < 0 ? *p.rank + static_cast<index_t>(n) : *p.rank;
    return at(static_cast<std::size_t>(r), static_cast<std::size_t>(r), 0);
  }
  const double q = p.op == Op::median ? 0.5 : p.q[quantile], all = static_cast<double>(n), h = (all - 1) * q;
  const auto floor = static_cast<std::size_t>(std::floor(h)), ceil = static_cast<std::size_t>(std::ceil(h));
  std::size_t i = 0;
  switch (p.method) {
    case Method::lower:
      i = floor;
      break;
    case Method::higher:
      i = ceil;
      break;
    case Method::nearest:
      i = half_even(h);
      break;
    case Method::midpoint:
      return at(floor, ceil, 0.5);
    case Method::linear:
      return at(floor, std::min(floor + 1, n - 1), h - std::floor(h));
    case Method::inverted_cdf:
      i = static_cast<std::size_t>(std::max(std::ceil(all * q) - 1, 0.0));
      if (taps.weighted) i = by_weights(taps, order, q);
      break;
    case Method::scipy:
      i = static_cast<std::size_t>(std::min(std::floor(all * q), all - 1));
      break;
  }
  return at(i, i, 0);
}

}  // namespace oriel::reference
