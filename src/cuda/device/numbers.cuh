// Numbers as the semantics want them (S7): lifted into accumulators, divided and rounded once. Every function gives the
// bits of the CPU backend; the device's own conversions are used where they do.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "cuda/device/memory.cuh"
#include "real_functions.h"

namespace oriel::cuda {

/// What a kernel computes with for elements T: floats for the 16-bit ones, else T itself.
template <class T>
struct computed {
  using type = T;
};
template <>
struct computed<half> {
  using type = float;
};
template <>
struct computed<bfloat16> {
  using type = float;
};
template <>
struct computed<bool8> {
  using type = std::uint8_t;
};
template <class T>
using computed_t = typename computed<T>::type;

/// The value of an element; booleans become 0 or 1.
template <class T>
__device__ __forceinline__ computed_t<T> value_of(T v) {
  if constexpr (std::is_same_v<T, half>)
    return __half2float(__ushort_as_half(v.bits));
  else if constexpr (std::is_same_v<T, bfloat16>)
    return __bfloat162float(__ushort_as_bfloat16(v.bits));
  else if constexpr (std::is_same_v<T, bool8>)
    return v.byte != 0 ? 1 : 0;
  else
    return v;
}

/// The element nearest to a value of the type that kernels compute with (exact but for 16-bit floats).
template <class T>
__device__ __forceinline__ T element_of(computed_t<T> v) {
  if constexpr (std::is_same_v<T, half>)
    return half::from_bits(__half_as_ushort(__float2half_rn(v)));
  else if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(v)));
  else if constexpr (std::is_same_v<T, bool8>)
    return bool8(v != 0);
  else
    return v;
}

template <class A>
__device__ __forceinline__ bool is_nan(A v) {
  if constexpr (std::is_floating_point_v<A>)
    return v != v;
  else
    return false;
}

/// Whether an integer is below 0.
template <class V>
__device__ __forceinline__ bool is_negative(V v) {
  if constexpr (std::is_signed_v<V>)
    return v < 0;
  else
    return false;
}

/// q, a quotient whose exact value differs from it by the sign of `rest`, with an odd last bit where it is not exact:
/// rounding that again, to a shorter type, rounds once.
__device__ __forceinline__ float make_odd(float q, float rest) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(q);
  if (!(rest > 0 || rest < 0) || (bits & 1U) != 0) return q;
  const bool away = (rest > 0) == (q > 0);  // the exact value is the larger one in magnitude
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}
__device__ __forceinline__ double make_odd(double q, double rest) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(q);
  if (!(rest > 0 || rest < 0) || (bits & 1U) != 0) return q;
  const bool away = (rest > 0) == (q > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

/// Divisors below this are floats exactly.
inline constexpr index_t kFloatDivisors = index_t{1} << 24;

/// a / divisor, rounded once to a float (S7).
__device__ __forceinline__ float divide(float a, index_t divisor) {
  if (divisor < kFloatDivisors) return a / static_cast<float>(divisor);
  const double d = static_cast<double>(divisor), q = static_cast<double>(a) / d;
  return static_cast<float>(make_odd(q, std::fma(-q, d, static_cast<double>(a))));
}
__device__ __forceinline__ double divide(double a, index_t divisor) { return a / static_cast<double>(divisor); }

/// The integer of T nearest to v: what does not fit becomes the nearest that does, 64-bit ones wrap (S7).
template <class T>
__device__ __forceinline__ T narrow(std::int64_t v) {
  if constexpr (std::is_same_v<T, bool8>)
    return bool8(v > 0);
  else if constexpr (sizeof(T) == 8)
    return static_cast<T>(v);
  else
    return static_cast<T>(v < std::numeric_limits<T>::min()   ? std::numeric_limits<T>::min()
                          : v > std::numeric_limits<T>::max() ? std::numeric_limits<T>::max()
                                                              : v);
}

/// The average of a window's sum (S5, S7).
template <class T, class A>
__device__ __forceinline__ T average(A sum, index_t divisor) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return divide(sum, divisor);
  } else if constexpr (is_floating_v<T>) {
    if (divisor >= kFloatDivisors) return T(static_cast<double>(sum) / static_cast<double>(divisor));
    const float d = static_cast<float>(divisor), q = sum / d;
    return element_of<T>(make_odd(q, __fmaf_rn(-q, d, sum)));
  } else if constexpr (std::is_same_v<A, std::int32_t>) {
    // A quotient of two integers below 2^22 lies on a half, or farther from it than a float's rounding.
    if (sum < (1 << 22) && sum > -(1 << 22) && divisor < (1 << 22)) {
      return narrow<T>(__float2int_rn(static_cast<float>(sum) / static_cast<float>(divisor)));
    }
    return average<T>(static_cast<std::int64_t>(sum), divisor);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    const auto n = static_cast<std::uint64_t>(sum), d = static_cast<std::uint64_t>(divisor);
    const std::uint64_t q = n / d, r = n % d;
    return q + (r > d - r || (r == d - r && q % 2 == 1) ? 1 : 0);
  } else {
    const std::int64_t q = sum / divisor, r = sum % divisor;
    const std::int64_t rest = r < 0 ? -r : r;
    const bool away = rest > divisor - rest || (rest == divisor - rest && q % 2 != 0);
    return narrow<T>(away ? (r < 0 ? q - 1 : q + 1) : q);
  }
}

/// A sum as an element.
template <class T, class A>
__device__ __forceinline__ T rounded(A sum) {
  if constexpr (is_floating_v<T>)
    return element_of<T>(sum);
  else
    return narrow<T>(sum);
}

// The nearest integer of T to a float, half to even; NaN is 0.
template <class T>
__device__ T nearest_integer(double v) {
  const double r = std::rint(v);
  if (r != r) return T{};
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(r > 0);
  } else {
    if (r <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (r >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(r);
  }
}

// An unsigned magnitude as T: the nearest value that fits, 64-bit types too.
template <class T>
__device__ T narrow_magnitude(std::uint64_t v) {
  if constexpr (std::is_same_v<T, bool8>)
    return bool8(v != 0);
  else
    return v > static_cast<std::uint64_t>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max()
                                                                         : static_cast<T>(v);
}

// The integer nearest to the square root of v; it is never half-way.
__device__ inline std::uint64_t nearest_root(std::uint64_t v) {
  std::uint64_t r = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(v)));
  while (r > 0xffffffffULL || r * r > v) --r;
  while (r < 0xffffffffULL && (r + 1) * (r + 1) <= v) ++r;
  return v - r * r > r ? r + 1 : r;
}

/// A sum of p-th powers to its p-th root (S7). R is an element type, or the type of an unrounded result.
template <class R, class A>
__device__ R root(A sum, double norm) {
  if constexpr (std::is_floating_point_v<A>) {
    double v = static_cast<double>(sum);
    if constexpr (std::is_same_v<R, A>) {
      if (norm == 2) return std::sqrt(sum);
    }
    if (norm != 1) v = norm_root(v, norm);
    if constexpr (is_floating_v<R>)
      return R(v);
    else
      return nearest_integer<R>(v);
  } else {
    const auto u = static_cast<std::uint64_t>(sum);
    return narrow_magnitude<R>(norm == 1 ? u : nearest_root(u));
  }
}

}  // namespace oriel::cuda
