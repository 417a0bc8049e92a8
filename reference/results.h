// Writes results of any dtype, each rounded once.
#pragma once

#include <algorithm>

#include "reference/geometry.h"
#include "reference/numbers.h"

namespace oriel::reference {

/// Collects the elements of an Outcome.
class Results {
 public:
  explicit Results(Dtype dtype) { out_.dtype = dtype; }

  /// Exactly v, or numerator / denominator.
  void integer(wide_int v) { divided(v, 1); }
  void divided(wide_int numerator, wide_int denominator) {
    visit(out_.dtype, [&]<class R>() {
      const long double real = fraction(numerator, denominator);
      if constexpr (is_floating_v<R>)
        push(round_to<R>(real), real, 0);
      else
        push(saturate<R>(divide_half_even(numerator, denominator)), clamped<R>(real), 0);
    });
  }

  /// The rounded `bits`; `value` is the same result computed apart, with an error of at most `error` of `bits`.
  void real(long double bits, long double value, long double error) {
    visit(out_.dtype, [&]<class R>() { push(rounded<R>(bits), clamped<R>(value), error); });
  }
  void real(long double v) { real(v, v, 0); }

  /// No rule defines the bits.
  void within(long double value, long double error) {
    out_.exact = false;
    real(value, value, error);
  }

  /// The index of the last result (S10): element `element` of x and number `tap` of the largest window; -1: none.
  void index(index_t plane, index_t element, index_t tap) {
    out_.plane.push_back(plane);
    out_.tensor.push_back(element);
    out_.window.push_back(tap);
  }

  Outcome& outcome() { return out_; }

 private:
  template <class R>
  static R rounded(long double v) {
    if constexpr (is_floating_v<R>) {
      return round_to<R>(v);
    } else {
      if (v >= 0x1p64L) return highest_value<R>();
      if (v < -0x1p63L) return lowest_value<R>();
      return saturate<R>(static_cast<wide_int>(std::nearbyint(v)));
    }
  }

  // What is beyond R's range: the end of it.
  template <class R>
  static long double clamped(long double v) {
    if constexpr (is_floating_v<R>) {
      const double stored = static_cast<double>(round_to<R>(v));
      return std::isinf(stored) ? stored : v;
    } else {
      return std::clamp(v, static_cast<long double>(as_integer(lowest_value<R>())),
                        static_cast<long double>(as_integer(highest_value<R>())));
    }
  }

  template <class R>
  void push(R bits, long double value, long double error) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
    out_.bits.insert(out_.bits.end(), bytes, bytes + sizeof(R));
    if constexpr (is_floating_v<R>) {
      error += std::ldexp(std::fabs(value), -Format<R>::bits);
      error += std::ldexp(1.0L, std::max(Format<R>::least - Format<R>::bits + 1, -1074));
    } else {  // 64 bits do not fit a double, which value and bound are
      error += 0.5L + std::ldexp(std::fabs(value), -52);
    }
    out_.value.push_back(static_cast<double>(value));
    out_.bound.push_back(std::isnan(error) ? 0 : static_cast<double>(error));
  }

  Outcome out_;
};

}  // namespace oriel::reference
