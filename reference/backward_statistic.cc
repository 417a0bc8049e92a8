// Gradients by S16, S18 and S19: each window's slopes in long double.
#include <cmath>

#include "reference/statistic.h"

namespace oriel::reference {
namespace {

// The slope of a result with respect to one tap, and the size of the numbers that it was made of.
struct Slope {
  long double value = 0;
  long double scale = 0;
};

Slope plain(long double value) { return {value, std::fabs(value)}; }

class Slopes {
 public:
  Slopes(const Source& source, const Taps& taps) : p_(source.pooling), taps_(taps), slopes_(taps.size()) {}

  const std::vector<Slope>& of(std::size_t quantile) {
    switch (p_.op) {
      case Op::max:
      case Op::min:
        give(extreme(taps_, p_.op == Op::max), 1);
        break;
      case Op::range:
      case Op::midrange:
        give(extreme(taps_, true), p_.op == Op::range ? 1 : 0.5L);
        give(extreme(taps_, false), p_.op == Op::range ? -1 : 0.5L);
        break;
      case Op::first:
        give(static_cast<index_t>(taps_.numbers().at(0)), 1);
        break;
      case Op::centre:
        if (taps_.valid[taps_.centre]) give(static_cast<index_t>(taps_.centre), 1);
        break;
      case Op::median:
      case Op::quantile:
        give_quantile(quantile);
        break;
      case Op::lp:
        give_norm();
        break;
      default:
        for (const std::size_t t : taps_.numbers()) slopes_[t] = smooth(t);
    }
    return slopes_;
  }

 private:
  void give(index_t tap, long double share) {
    if (tap < 0) return;
    Slope& slope = slopes_[static_cast<std::size_t>(tap)];
    slope = {slope.value + share, slope.scale + std::fabs(share)};
  }

  void give_quantile(std::size_t quantile) {
    if (taps_.nan) return give(extreme(taps_, true), 1);
    const Place place = place_of(p_, taps_, quantile);
    const long double high = p_.method == Method::midpoint ? 0.5L : static_cast<long double>(place.share);
    give(first_like(place.low), 1 - high);
    give(first_like(place.high), high);
  }

  // The first tap with the same bits (S16).
  index_t first_like(std::size_t tap) const {
    for (const std::size_t t : taps_.numbers())
      if (taps_.x[t] == taps_.x[tap] && std::signbit(taps_.x[t]) == std::signbit(taps_.x[tap]))
        return static_cast<index_t>(t);
    return static_cast<index_t>(tap);
  }

  void give_norm() {
    if (std::isinf(p_.norm)) {
      index_t best = -1;
      for (const std::size_t t : taps_.numbers()) {
        const bool better = best < 0 || std::isnan(taps_.x[t]) ||
                            std::fabs(taps_.x[t]) > std::fabs(taps_.x[static_cast<std::size_t>(best)]);
        if (better) best = static_cast<index_t>(t);
      }
      if (best >= 0) give(best, sign(taps_.x[static_cast<std::size_t>(best)]));
      return;
    }
    const long double y = norm_of(p_, taps_), power = static_cast<long double>(p_.norm) - 1;
    for (const std::size_t t : taps_.numbers())
      slopes_[t] = y == 0 ? Slope{} : plain(sign(taps_.x[t]) * std::pow(std::fabs(taps_.x[t]) / y, power));
  }

  static long double sign(long double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }

  Slope smooth(std::size_t t) const {
    const long double x = taps_.x[t], w = static_cast<long double>(taps_.weight[t]);
    const auto n = static_cast<long double>(taps_.count);
    switch (p_.op) {
      case Op::sum:
        return plain(w);
      case Op::avg:
        if (taps_.weighted) return plain(w / weight_of(taps_));
        return taps_.divisor == 0 ? Slope{} : plain(1 / static_cast<long double>(taps_.divisor));
      case Op::var:
      case Op::std:
        return deviation(x, w);
      case Op::rms: {
        const long double y = smooth_root();
        return y == 0 ? Slope{} : plain(w * x / (weight_of(taps_) * y));
      }
      case Op::prod:
        return others(t);
      case Op::geo: {
        const long double y = smooth_value(p_, taps_);
        return y == 0 ? Slope{} : plain(y / (n * x));
      }
      case Op::harm: {
        const long double y = smooth_value(p_, taps_);
        if (y == 0) return {};
        long double magnitude = 0;  // of what cancels in y
        for (const std::size_t other : taps_.numbers()) magnitude += std::fabs(1 / taps_.x[other]);
        const Slope slope = plain(y * y / (n * x * x));
        return {slope.value, slope.scale * (1 + 2 * magnitude * std::fabs(y) / n)};
      }
      default:
        return exponential(x);
    }
  }

  long double smooth_root() const {
    long double sum = 0;
    for (const std::size_t t : taps_.numbers())
      sum += static_cast<long double>(taps_.weight[t]) * taps_.x[t] * taps_.x[t];
    return std::sqrt(sum / weight_of(taps_));
  }

  Slope deviation(long double x, long double w) const {
    const long double mean = mean_of(taps_), below = weight_of(taps_) - p_.ddof;
    Slope slope{2 * w * (x - mean) / below, 2 * std::fabs(w) * (std::fabs(x) + std::fabs(mean)) / below};
    if (p_.op == Op::var) return slope;
    const long double root = std::sqrt(variance_of(taps_) / below);
    if (root == 0) return {};
    return {slope.value / (2 * root), slope.scale / (2 * root)};
  }

  Slope others(std::size_t t) const {
    long double product = 1;
    for (const std::size_t other : taps_.numbers())
      if (other != t) product *= taps_.x[other];
    return plain(product);
  }

  Slope exponential(long double x) const {
    const long double r = p_.op == Op::lse ? static_cast<long double>(p_.sharpness) : 1;
    long double most = -HUGE_VALL, sum = 0;
    for (const std::size_t t : taps_.numbers()) most = std::max(most, taps_.x[t]);
    for (const std::size_t t : taps_.numbers()) sum += std::exp(r * (taps_.x[t] - most));
    const long double share = std::exp(r * (x - most)) / sum;
    if (p_.op == Op::lse) return plain(share);
    const long double y = smooth_value(p_, taps_);
    return {share * (1 + x - y), share * (1 + std::fabs(x) + std::fabs(y))};
  }

  const Pooling& p_;
  const Taps& taps_;
  std::vector<Slope> slopes_;
};

}  // namespace

Outcome backward(const Pooling& pooling, Dtype dtype, const void* x, const void* dy, const Beside& beside) {
  const Source source{pooling, dtype, x, beside};
  const Dtype above = result_dtype(pooling, dtype);
  const std::vector<index_t> shape = output_shape(pooling);
  const index_t outputs = count_of(shape), inputs = count_of(pooling.shape);
  const std::size_t quantiles = pooling.op == Op::quantile && pooling.q.size() > 1 ? pooling.q.size() : 1;
  std::vector<long double> sums(static_cast<std::size_t>(inputs), 0), scales(sums), terms(sums);
  for (index_t o = 0; o < outputs; ++o) {
    const Taps taps = source.window(coordinates(shape, o));
    if (source.too_few(taps)) continue;
    for (std::size_t k = 0; k < quantiles; ++k) {
      const long double g = read(above, dy, static_cast<index_t>(k) * outputs + o);
      Slopes slopes(source, taps);
      const std::vector<Slope>& of = slopes.of(k);
      for (const std::size_t t : taps.numbers()) {
        const auto i = static_cast<std::size_t>(taps.elements[t]);
        sums[i] += g * of[t].value;
        scales[i] += std::fabs(g) * of[t].scale;
        terms[i] += 1;
      }
    }
  }
  Results results(dtype);
  const long double unit = dtype == Dtype::f64 ? 0x1p-50L : 0x1p-22L;
  for (std::size_t i = 0; i < sums.size(); ++i) results.within(sums[i], (terms[i] + 8) * scales[i] * unit);
  results.outcome().shape = pooling.shape;
  return results.outcome();
}

}  // namespace oriel::reference
