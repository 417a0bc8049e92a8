// What each valid tap of a window adds to its input's gradient (S16, S18, S19), for a gradient of the result of 1.
#pragma once

#include "cpu/gathered/moments.h"
#include "cpu/gathered/sorted_taps.h"

namespace oriel::cpu {

/// Slopes of one window after another, in f64.
template <class T>
class GradientTerms {
 public:
  /// Takes its memory from `arena`.
  GradientTerms(const Pool& pool, index_t most, Arena& arena)
      : pool_(pool),
        terms_(arena.take_array<double>(most)),
        order_(arena.take_array<index_t>(most)),
        moments_(arena.take_array<Moments>(most)),
        room_(reinterpret_cast<double*>(moments_)) {}

  /// The slope for each tap, of quantile number `k`.
  const double* of(const ValidTaps<T>& taps, index_t k) {
    std::fill_n(terms_, taps.size(), 0.0);
    switch (pool_.op) {
      case Op::range:
      case Op::midrange:
        set_extrema(taps);
        break;
      case Op::median:
      case Op::quantile:
        set_quantile(taps, k);
        break;
      case Op::var:
      case Op::std:
        set_variance(taps);
        break;
      case Op::prod:
        set_product(taps);
        break;
      case Op::first:
        terms_[0] = 1;
        break;
      default:
        set_means(taps);
    }
    return terms_;
  }

 private:
  static index_t extremum_of(const ValidTaps<T>& taps, bool largest) {
    if (taps.last_nan() >= 0) return taps.last_nan();
    const T* v = taps.values();
    index_t best = 0;
    for (index_t i = 1; i < taps.size(); ++i)
      if (largest ? number_of(v[i]) > number_of(v[best]) : number_of(v[i]) < number_of(v[best])) best = i;
    return best;
  }

  void set_extrema(const ValidTaps<T>& taps) {
    const bool range = pool_.op == Op::range;
    terms_[extremum_of(taps, true)] += range ? 1 : 0.5;
    terms_[extremum_of(taps, false)] += range ? -1 : 0.5;
  }

  void sort(const ValidTaps<T>& taps) {
    for (index_t i = 0; i < taps.size(); ++i) order_[i] = i;
    const T* v = taps.values();
    std::sort(order_, order_ + taps.size(),
              [&](index_t a, index_t b) { return comes_before(v[a], v[b]) || (!comes_before(v[b], v[a]) && a < b); });
  }

  // The first tap with the bits of a sorted one.
  index_t first_like(const ValidTaps<T>& taps, index_t sorted) const {
    const T* v = taps.values();
    while (sorted > 0 && !comes_before(v[order_[sorted - 1]], v[order_[sorted]])) --sorted;
    return order_[sorted];
  }

  void set_quantile(const ValidTaps<T>& taps, index_t k) {
    if (taps.last_nan() >= 0) {
      terms_[taps.last_nan()] = 1;
      return;
    }
    sort(taps);
    if (pool_.rank) {
      terms_[first_like(taps, *pool_.rank < 0 ? taps.size() + *pool_.rank : *pool_.rank)] = 1;
      return;
    }
    const double q = pool_.op == Op::median ? 0.5 : pool_.q[static_cast<std::size_t>(k)];
    if (taps.weights() != nullptr) {
      terms_[first_like(taps, weighted_place(taps, q))] = 1;
      return;
    }
    const QuantilePlace at = place_of_quantile(pool_.method, q, taps.size());
    const double high = pool_.method == Quantile::midpoint && at.low != at.high ? 0.5 : at.share;
    terms_[first_like(taps, at.low)] += 1 - high;
    if (high != 0) terms_[first_like(taps, at.high)] += high;
  }

  index_t weighted_place(const ValidTaps<T>& taps, double q) const {
    double all = 0, sum = 0;
    for (index_t i = 0; i < taps.size(); ++i) all += taps.weights()[order_[i]];
    for (index_t i = 0; i < taps.size(); ++i) {
      sum += taps.weights()[order_[i]];
      if (sum >= q * all) return i;
    }
    return taps.size() - 1;
  }

  static bool all_equal(const ValidTaps<T>& taps) {
    const T* v = taps.values();
    return std::all_of(v, v + taps.size(), [&](T x) { return number_of(x) == number_of(v[0]); });
  }

  void set_variance(const ValidTaps<T>& taps) {
    const Moments m = moments_of(taps, moments_);
    const double mean = m.sum / m.n, below = m.n - pool_.ddof;
    const bool root = pool_.op == Op::std;
    const double deviation = std::sqrt(m.squares / below);
    if (root && (deviation == 0 || all_equal(taps))) return;  // weights leave a rest of equal taps
    for (index_t i = 0; i < taps.size(); ++i) {
      const double weight = taps.weights() != nullptr ? taps.weights()[i] : 1;
      const double slope = 2 * weight * (real_of(taps.values()[i]) - mean) / below;
      terms_[i] = root ? slope / (2 * deviation) : slope;
    }
  }

  // Products of the taps before and after each.
  void set_product(const ValidTaps<T>& taps) {
    double product = 1;
    for (index_t i = 0; i < taps.size(); ++i) {
      terms_[i] = product;
      product *= real_of(taps.values()[i]);
    }
    product = 1;
    for (index_t i = taps.size() - 1; i >= 0; --i) {
      terms_[i] *= product;
      product *= real_of(taps.values()[i]);
    }
  }

  void set_means(const ValidTaps<T>& taps) {
    const auto n = static_cast<double>(taps.size());
    const auto each = [&](auto slope) {
      for (index_t i = 0; i < taps.size(); ++i) terms_[i] = slope(real_of(taps.values()[i]), i);
    };
    if (pool_.op == Op::rms) {
      const double y = root_mean_square(taps, room_);
      double all = n;
      if (taps.weights() != nullptr) all = tree_sum<double>(taps, room_, [&](index_t i) { return taps.weights()[i]; });
      if (y != 0)
        each([&](double x, index_t i) { return (taps.weights() != nullptr ? taps.weights()[i] : 1) * x / (all * y); });
    } else if (pool_.op == Op::geo) {
      const double y = geometric_mean(taps, room_);
      if (y != 0) each([&](double x, index_t) { return y / (n * x); });
    } else if (pool_.op == Op::harm) {
      const double y = harmonic_mean(taps, room_);
      if (y != 0) each([&](double x, index_t) { return y * y / (n * (x * x)); });
    } else {
      set_exponentials(taps);
    }
  }

  void set_exponentials(const ValidTaps<T>& taps) {
    const double m = largest_of(taps), r = pool_.op == Op::lse ? pool_.sharpness : 1;
    if (!std::isfinite(m)) {  // the largest taps share it
      for (index_t i = 0; i < taps.size(); ++i) terms_[i] = m != m ? m : real_of(taps.values()[i]) == m ? 1 : 0;
      const double sum = tree_sum<double>(taps, room_, [&](index_t i) { return terms_[i]; });
      for (index_t i = 0; i < taps.size(); ++i) terms_[i] /= sum;
      return;
    }
    const double sum = sum_of_exponentials(taps, r, m, room_);
    const double y = pool_.op == Op::soft ? soft_mean(taps, room_) : 0;
    for (index_t i = 0; i < taps.size(); ++i) {
      const double x = real_of(taps.values()[i]), share = fixed_exp(r * (x - m)) / sum;
      terms_[i] = pool_.op == Op::lse || share == 0 ? share : share * (1 + x - y);
    }
  }

  const Pool& pool_;
  double* terms_;
  index_t* order_;
  Moments* moments_;
  double* room_;  // the same memory
};

}  // namespace oriel::cpu
