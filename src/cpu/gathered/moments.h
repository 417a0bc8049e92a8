// Moments of gathered taps in f64 (S18, S19): the values from which results and gradients are made.
#pragma once

#include <cmath>
#include <limits>

#include "cpu/gathered/tree.h"
#include "real_functions.h"

namespace oriel::cpu {

/// Number (or weight), sum, and sum of squared deviations of some taps.
struct Moments {
  double n = 0;
  double sum = 0;
  double squares = 0;
};

/// Those of the taps of two parts together (S18).
inline Moments join(const Moments& a, const Moments& b) {
  if (a.n == 0) return b;
  if (b.n == 0) return a;
  const bool alike = a.n == b.n;
  const double apart = alike ? b.sum - a.sum : b.n * a.sum - a.n * b.sum;
  const double below = alike ? 2 * a.n : a.n * b.n * (a.n + b.n);
  return {a.n + b.n, a.sum + b.sum, (a.squares + b.squares) + apart * apart / below};
}

template <class T>
double real_of(T v) {
  return static_cast<double>(number_of(v));
}

template <class T>
bool all_finite(const ValidTaps<T>& taps) {
  if constexpr (is_floating_v<T>) {
    for (index_t i = 0; i < taps.size(); ++i)
      if (!std::isfinite(real_of(taps.values()[i]))) return false;
  }
  return true;
}

/// The moments of the valid taps, of which there is at least one; NaN if one is not finite. `room` has a place for each
/// cell.
template <class T>
Moments moments_of(const ValidTaps<T>& taps, Moments* room) {
  if (!all_finite(taps)) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {static_cast<double>(taps.size()), kNan, kNan};
  }
  std::fill_n(room, taps.box().cells, Moments{});
  for (index_t i = 0; i < taps.size(); ++i) {
    const double x = real_of(taps.values()[i]);
    const double weight = taps.weights() != nullptr ? taps.weights()[i] : 1;
    room[taps.cells()[i]] = {weight, taps.weights() != nullptr ? weight * x : x, 0};
  }
  return fold_box(room, taps.box(), [](const Moments& a, const Moments& b) { return join(a, b); });
}

/// The largest of the valid taps; NaN if there is one.
template <class T>
double largest_of(const ValidTaps<T>& taps) {
  if (taps.last_nan() >= 0) return std::numeric_limits<double>::quiet_NaN();
  double largest = -std::numeric_limits<double>::infinity();
  for (index_t i = 0; i < taps.size(); ++i) largest = std::max(largest, real_of(taps.values()[i]));
  return largest;
}

/// sum(exp(r (x - m))) of the valid taps, m being the largest and finite.
template <class T>
double sum_of_exponentials(const ValidTaps<T>& taps, double r, double m, double* room) {
  return tree_sum<double>(taps, room, [&](index_t i) { return fixed_exp(r * (real_of(taps.values()[i]) - m)); });
}

/// sum(x exp(x - m)); a tap whose exponential is 0 adds nothing, not even if it is infinite.
template <class T>
double sum_of_weighted_exponentials(const ValidTaps<T>& taps, double m, double* room) {
  return tree_sum<double>(taps, room, [&](index_t i) {
    const double x = real_of(taps.values()[i]), e = fixed_exp(x - m);
    return e == 0 ? 0 : x * e;
  });
}

/// The product of the valid taps by the tree of S8, in f64.
template <class T>
double product_of(const ValidTaps<T>& taps, double* room) {
  if (taps.size() == 0) return 1;
  std::fill_n(room, taps.box().cells, 1.0);
  for (index_t i = 0; i < taps.size(); ++i) room[taps.cells()[i]] = real_of(taps.values()[i]);
  return fold_box(room, taps.box(), [](double a, double b) { return a * b; });
}

/// The root of the mean of the squares.
template <class T>
double root_mean_square(const ValidTaps<T>& taps, double* room) {
  if (taps.weights() == nullptr) {
    const double sum = tree_sum<double>(taps, room, [&](index_t i) {
      const double x = real_of(taps.values()[i]);
      return x * x;
    });
    return std::sqrt(sum / static_cast<double>(taps.size()));
  }
  const double sum = tree_sum<double>(taps, room, [&](index_t i) {
    const double x = real_of(taps.values()[i]);
    return taps.weights()[i] * (x * x);
  });
  return std::sqrt(sum / tree_sum<double>(taps, room, [&](index_t i) { return taps.weights()[i]; }));
}

/// exp(mean(log x)): 0 if one is 0, NaN if one is negative.
template <class T>
double geometric_mean(const ValidTaps<T>& taps, double* room) {
  bool zero = false;
  for (index_t i = 0; i < taps.size(); ++i) {
    const double x = real_of(taps.values()[i]);
    if (!(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
    zero = zero || x == 0;
  }
  if (zero) return 0;
  const double sum = tree_sum<double>(taps, room, [&](index_t i) { return fixed_log(real_of(taps.values()[i])); });
  return fixed_exp(sum / static_cast<double>(taps.size()));
}

/// n / sum(1 / x).
template <class T>
double harmonic_mean(const ValidTaps<T>& taps, double* room) {
  const double sum = tree_sum<double>(taps, room, [&](index_t i) { return 1 / real_of(taps.values()[i]); });
  return static_cast<double>(taps.size()) / sum;
}

/// The soft maximum of sharpness r: of the mean of the exponentials, or of their sum.
template <class T>
double log_of_exponentials(const ValidTaps<T>& taps, const Pool& pool, double* room) {
  const double m = largest_of(taps), r = pool.sharpness;
  if (!std::isfinite(m)) return m;
  const double sum = sum_of_exponentials(taps, r, m, room);
  return m + fixed_log(pool.sum_of_exponentials ? sum : sum / static_cast<double>(taps.size())) / r;
}

/// The mean weighted by exponentials.
template <class T>
double soft_mean(const ValidTaps<T>& taps, double* room) {
  const double m = largest_of(taps);
  if (!std::isfinite(m)) return m;
  const double weighted = sum_of_weighted_exponentials(taps, m, room);
  return weighted / sum_of_exponentials(taps, 1, m, room);
}

}  // namespace oriel::cpu
