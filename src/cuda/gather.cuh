// Kernel "gather": one thread for each output folds its window. Every reduction, rank, pitch, window and type; where
// the others do not fit.
#pragma once

#include "cuda/fold.cuh"
#include "cuda/index.cuh"

namespace oriel::cuda {

/// Which element of a window wins.
enum class Extremum : signed char { max, min, magnitude };

/// A number whose greatest is the winner: floats as they are, integers as signed 64-bit ones.
template <class T>
using key_t = std::conditional_t<is_floating_v<T>, computed_t<T>, std::int64_t>;

template <class T>
__device__ __forceinline__ key_t<T> key_of(T v, Extremum which) {
  const auto value = value_of(v);
  if constexpr (is_floating_v<T>) {
    if (which == Extremum::magnitude) return std::fabs(value);
    return which == Extremum::min ? -value : value;
  } else {
    constexpr auto kSign = std::uint64_t{1} << 63;
    std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    if (which == Extremum::magnitude) {
      if (is_negative(value)) bits = 0 - bits;
      return static_cast<std::int64_t>(bits ^ kSign);
    }
    if (std::is_same_v<T, std::uint64_t>) bits ^= kSign;
    return static_cast<std::int64_t>(which == Extremum::min ? ~bits : bits);
  }
}

/// What a window without a tap gives (S6).
template <class T>
__device__ __forceinline__ T nothing(Extremum which) {
  if (which == Extremum::magnitude) return T{};
  return which == Extremum::max ? lowest_value<T>() : highest_value<T>();
}

/// The result of the element that won.
template <class T>
__device__ __forceinline__ T result_of(T v, Extremum which) {
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(v.byte != 0);
  } else {
    if (which != Extremum::magnitude) return v;
    if constexpr (is_floating_v<T>) {
      return element_of<T>(std::fabs(value_of(v)));
    } else {
      const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
      return narrow_magnitude<T>(is_negative(v) ? 0 - bits : static_cast<std::uint64_t>(v));
    }
  }
}

struct ExtremumRule {
  Extremum which = Extremum::max;
  bool omit = false;
};

/// y (may be null) and the indices of a max, min or largest magnitude.
template <class T, class I>
__global__ void __launch_bounds__(256)
    gather_extremum(const __grid_constant__ Walk<I> walk, const __grid_constant__ Windows windows, const T* x, T* y,
                    const __grid_constant__ Indices indices, ExtremumRule rule) {
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  const T* base = x + place.offset[kSeen];
  const auto best = scan_window<key_t<T>>(windows, place.along, [&](index_t offset, bool& use) {
    const key_t<T> key = key_of(load(base + offset), rule.which);
    if (rule.omit && is_nan(key)) use = false;
    return key;
  });
  if (y != nullptr) {
    T* out = y + place.offset[kMade];
    store(out, best.code < 0 ? nothing<T>(rule.which) : result_of(load(base + best.offset), rule.which));
  }
  store_index(windows, indices, place, best.code);
}

/// What is added up.
enum class Lift : signed char { value, magnitude, square, power };
/// What a sum becomes.
enum class Lower : signed char { sum, average, root };

struct SumRule {
  Lift lift = Lift::value;
  Lower lower = Lower::sum;
  bool omit = false;
  bool count_include_pad = true;
  index_t divisor = 0;  // fixed; 0: none
  double norm = 2;
};

template <class A, class T>
__device__ __forceinline__ A lifted(T v, const SumRule& rule) {
  const auto value = value_of(v);
  if constexpr (is_floating_v<T>) {
    if (rule.lift == Lift::value) return value;
    if (rule.lift == Lift::magnitude) return std::fabs(value);
    if (rule.lift == Lift::square) return value * value;
    return static_cast<A>(norm_power(std::fabs(static_cast<double>(value)), rule.norm));
  } else if constexpr (std::is_floating_point_v<A>) {
    return norm_power(std::fabs(static_cast<double>(value)), rule.norm);
  } else {
    std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    if (rule.lift != Lift::value && is_negative(value)) bits = 0 - bits;
    return static_cast<A>(rule.lift == Lift::square ? bits * bits : bits);
  }
}

/// A window's sum, its taps that count and what an average divides by.
template <class A>
struct Sum {
  A value;
  index_t taps;
  index_t divisor;
};

template <class A, class T>
__device__ __forceinline__ Sum<A> sum_window(const Windows& windows, const Place& place, const T* base,
                                             const SumRule& rule) {
  const Window window = window_of(windows, place.along);
  index_t missing = 0;
  const A value = fold_sum<A>(windows, window, [&](const index_t* input) {
    index_t offset = 0;
    for (int a = 0; a < windows.pooled; ++a) offset += input[a] * windows.pitch[a];
    const T v = load(base + offset);
    if (rule.omit && is_nan(value_of(v))) {
      ++missing;
      return absent<A>();
    }
    return lifted<A>(v, rule);
  });
  index_t divisor = 1;
  if (rule.lower == Lower::average) {
    divisor = divisor_at(windows.axis, windows.pooled, place.along, rule.count_include_pad, rule.divisor);
    if (rule.divisor == 0) divisor -= missing;
  }
  return {value, window.taps - missing, divisor};
}

/// y of a sum, an average or an Lp norm.
template <class T, class A, class I>
__global__ void __launch_bounds__(256)
    gather_sum(const __grid_constant__ Walk<I> walk, const __grid_constant__ Windows windows, const T* x, T* y,
               const __grid_constant__ SumRule rule) {
  const I number = thread_number<I>();
  if (number >= walk.count) return;
  const Place place = place_of(walk, number);
  const Sum<A> sum = sum_window<A>(windows, place, x + place.offset[kSeen], rule);
  T result{};
  if (sum.taps > 0) {
    if (rule.lower == Lower::root) {
      result = root<T>(sum.value, rule.norm);
    } else if constexpr (is_floating_v<T> || !std::is_floating_point_v<A>) {
      result = rule.lower == Lower::average ? average<T>(sum.value, sum.divisor) : rounded<T>(sum.value);
    }
  }
  store(y + place.offset[kMade], result);
}

}  // namespace oriel::cuda
