// Pyramids by loops over the definition S21, which share nothing with the library but names.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "oriel/pyramid.h"

namespace oriel::test {

/// An array of numbers that are exact in a double.
struct Numbers {
  std::vector<index_t> shape;
  std::vector<double> values;
};

inline index_t count_of(const std::vector<index_t>& shape) {
  index_t n = 1;
  for (const index_t extent : shape) n *= extent;
  return n;
}

inline double rounded(double value, Dtype dtype) {
  return visit(dtype, [&]<class T>() -> double {
    if constexpr (is_floating_v<T>) return static_cast<double>(T(value));
    return std::nearbyint(value);  // half to even
  });
}

/// The value of a window with these elements, none of them missing; `origin` 0 counts.
inline double naive_value(const Pool& pool, const std::vector<double>& taps, Dtype dtype) {
  switch (pool.op) {
    case Op::max:
      return *std::max_element(taps.begin(), taps.end());
    case Op::min:
      return *std::min_element(taps.begin(), taps.end());
    case Op::first:
      return taps.front();
    case Op::any:
      return std::any_of(taps.begin(), taps.end(), [](double v) { return v != 0; }) ? 1 : 0;
    case Op::all:
      return std::all_of(taps.begin(), taps.end(), [](double v) { return v != 0; }) ? 1 : 0;
    case Op::count:
      return static_cast<double>(taps.size());
    case Op::sum:
    case Op::avg: {
      double sum = 0, n = 0;
      for (const double v : taps) {
        if (pool.nodata && v == static_cast<double>(std::get<std::int64_t>(*pool.nodata))) continue;
        if (std::isnan(v) && pool.nan == NanPolicy::omit) continue;
        sum += v;
        n += 1;
      }
      if (pool.op == Op::sum) return std::clamp(sum, 0.0, 255.0);  // u8 only
      if (n < std::max<double>(1, static_cast<double>(pool.min_count))) {
        return pool.nodata ? static_cast<double>(std::get<std::int64_t>(*pool.nodata)) : std::nan("");
      }
      return rounded(sum / n, dtype);
    }
    case Op::median: {
      std::vector<double> sorted = taps;
      std::sort(sorted.begin(), sorted.end());
      return sorted[(sorted.size() - 1) / 2];
    }
    case Op::mode: {
      std::map<double, int> votes;
      for (const double v : taps) ++votes[v];
      const bool ignores = pool.ignore.has_value() && votes.size() > 1;
      double best = 0;
      int most = 0;
      for (const auto& [value, n] : votes) {
        if (ignores && value == static_cast<double>(std::get<std::int64_t>(*pool.ignore))) continue;
        if (n > most || (n == most && pool.tie == Tie::highest)) best = value, most = n;
      }
      return best;
    }
    default:
      throw Error("the naive pyramid has no such op");
  }
}

/// Level `level` of `from`, whose elements are those of level `from_level`.
inline Numbers naive_level(const Pyramid& pyramid, const Numbers& from, int from_level, int level, Dtype dtype) {
  Numbers to;
  const std::size_t rank = from.shape.size();
  std::vector<index_t> factor(rank, 1), lead(rank, 0);
  for (std::size_t d = 0; d < rank; ++d) {
    index_t before = 1;
    for (int l = 0; l < level; ++l) {
      const Extents& step = pyramid.factors[static_cast<std::size_t>(l)];
      const index_t f = step[step.size() == 1 ? 0 : static_cast<int>(d)];
      (l < from_level ? before : factor[d]) *= f;
    }
    const Extents& g = pyramid.origin;
    const index_t origin = g.empty() ? 0 : g[g.size() == 1 ? 0 : static_cast<int>(d)];
    lead[d] = (origin / before) % factor[d];
    const index_t whole = from.shape[d] + lead[d];
    to.shape.push_back(pyramid.edge == Edge::trim ? whole / factor[d] : (whole + factor[d] - 1) / factor[d]);
  }
  const index_t count = count_of(to.shape);
  for (index_t o = 0; o < count; ++o) {
    std::vector<index_t> begin(rank), end(rank);
    index_t rest = o;
    for (std::size_t d = rank; d-- > 0;) {
      const index_t at = rest % to.shape[d];
      rest /= to.shape[d];
      begin[d] = std::max<index_t>(at * factor[d] - lead[d], 0);
      end[d] = std::min(at * factor[d] - lead[d] + factor[d], from.shape[d]);
    }
    std::vector<double> taps;
    for (std::vector<index_t> at = begin;;) {
      index_t place = 0;
      for (std::size_t d = 0; d < rank; ++d) place = place * from.shape[d] + at[d];
      taps.push_back(from.values[static_cast<std::size_t>(place)]);
      std::size_t d = rank;
      for (; d-- > 0;) {
        if (++at[d] < end[d]) break;
        at[d] = begin[d];
      }
      if (d == static_cast<std::size_t>(-1)) break;
    }
    to.values.push_back(naive_value(pyramid.pool, taps, dtype));
  }
  return to;
}

/// All levels above level 0.
inline std::vector<Numbers> naive_pyramid(const Pyramid& pyramid, const Numbers& x, Dtype dtype) {
  std::vector<Numbers> levels;
  const bool previous = pyramid.source == LevelSource::previous || (!pyramid.source && pyramid.pool.op == Op::median);
  for (int l = 1; l <= static_cast<int>(pyramid.factors.size()); ++l) {
    levels.push_back(previous && l > 1 ? naive_level(pyramid, levels.back(), l - 1, l, dtype)
                                       : naive_level(pyramid, x, 0, l, dtype));
  }
  return levels;
}

}  // namespace oriel::test
