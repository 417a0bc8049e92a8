// Numbers of the reference: correct rounding by long double and 128-bit integers, and the tree of S8.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "oriel/types.h"

namespace oriel::reference {

static_assert(std::numeric_limits<long double>::digits >= 64, "the reference needs a long double of 64 bits");

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 wide_uint;

/// Fraction bits (with the hidden one) and least exponent of a floating dtype: value = integer * 2^(e - bits + 1).
template <class T>
struct Format {
  static constexpr int bits = std::numeric_limits<T>::digits;
  static constexpr int least = std::numeric_limits<T>::min_exponent - 1;
  static constexpr int most = std::numeric_limits<T>::max_exponent - 1;
};
template <>
struct Format<half> {
  static constexpr int bits = 11, least = -14, most = 15;
};
template <>
struct Format<bfloat16> {
  static constexpr int bits = 8, least = -126, most = 127;
};

/// The value of T nearest to v, ties to even.
template <class T>
T round_to(long double v) {
  if (std::isnan(v) || std::isinf(v) || v == 0) return T(static_cast<double>(v));
  int exponent = 0;
  std::frexp(v, &exponent);  // |v| in [2^(exponent-1), 2^exponent)
  const int quantum = std::max(exponent - 1, Format<T>::least) - Format<T>::bits + 1;
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(v, -quantum)), quantum);
  const long double largest = std::ldexp(1.0L, Format<T>::most + 1);
  if (std::fabs(rounded) >= largest) return T(v > 0 ? HUGE_VAL : -HUGE_VAL);
  return T(static_cast<double>(rounded));
}

/// The magnitude v * 2^scale to 62 bits, the last one set when anything was lost: rounding that once more is correct
/// rounding.
inline long double to_62_bits(wide_uint v, bool lost, int scale) {
  while (v >> 62 != 0) {
    lost = lost || (v & 1) != 0;
    v >>= 1;
    ++scale;
  }
  if (lost) v |= 1;
  return std::ldexp(static_cast<long double>(static_cast<std::uint64_t>(v)), scale);
}

/// numerator / denominator, for a denominator from 1 to 2^126, in the same way.
inline long double fraction(wide_int numerator, wide_int denominator) {
  const wide_uint below = static_cast<wide_uint>(denominator);
  const wide_uint above = numerator < 0 ? -static_cast<wide_uint>(numerator) : static_cast<wide_uint>(numerator);
  wide_uint q = above / below, rest = above % below;
  int scale = 0;
  while (rest != 0 && q >> 61 == 0) {  // long division, bit by bit
    rest *= 2;
    q = 2 * q + (rest >= below ? 1 : 0);
    rest %= below;
    --scale;
  }
  const long double result = to_62_bits(q, rest != 0, scale);
  return numerator < 0 ? -result : result;
}

/// sum / divisor to 62 bits, the last one set when anything was lost: rounding that once more is correct rounding.
inline long double quotient(double sum, index_t divisor) {
  if (std::isnan(sum) || std::isinf(sum) || sum == 0) return sum;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(sum), &exponent);
  const wide_uint numerator = static_cast<wide_uint>(std::ldexp(fraction, 53)) << 74;  // 127 bits
  const wide_uint q = numerator / static_cast<wide_uint>(divisor);
  const bool lost = numerator % static_cast<wide_uint>(divisor) != 0;
  const long double result = to_62_bits(q, lost, exponent - 53 - 74);
  return sum < 0 ? -result : result;
}

/// sum / divisor, half to even.
inline wide_int divide_half_even(wide_int sum, wide_int divisor) {
  wide_int q = sum / divisor, r = sum % divisor;
  if (r < 0) {
    r += divisor;
    --q;
  }
  const wide_int rest = divisor - r;
  return r > rest || (r == rest && q % 2 != 0) ? q + 1 : q;
}

/// The value of the integer type T nearest to v.
template <class T>
T saturate(wide_int v) {
  if constexpr (std::is_same_v<T, bool8>) {
    return bool8(v > 0);
  } else {
    if (v < std::numeric_limits<T>::min()) return std::numeric_limits<T>::min();
    if (v > std::numeric_limits<T>::max()) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
  }
}

/// A sum as S7 keeps it: exact, but modulo 2^64 for 64-bit types.
template <class T>
wide_int kept(wide_int sum) {
  if constexpr (std::is_same_v<T, std::int64_t>)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum));
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return static_cast<std::uint64_t>(sum);
  else
    return sum;
}

template <class T>
wide_int as_integer(T v) {
  if constexpr (std::is_same_v<T, bool8>)
    return v.byte != 0 ? 1 : 0;
  else
    return static_cast<wide_int>(v);
}

// S8 as it is written: P1(a) = x_a, P2m(a) = Pm(a) + Pm(a + m).
template <class A, class Add>
A perfect_tree(const std::vector<A>& x, std::size_t a, std::size_t m, const Add& add) {
  if (m == 1) return x[a];
  return add(perfect_tree(x, a, m / 2, add), perfect_tree(x, a + m / 2, m / 2, add));
}

/// The sum of x over S8's tree: the powers of two that make up its size, from the largest down, added left to right.
/// `add` may join something else than numbers.
template <class A, class Add = std::plus<>>
A tree(const std::vector<A>& x, const Add& add = {}) {
  A sum{};
  std::size_t done = 0;
  for (std::size_t power = std::size_t{1} << 62; power != 0; power /= 2) {
    if ((x.size() & power) == 0) continue;
    const A part = perfect_tree(x, done, power, add);
    sum = done == 0 ? part : add(sum, part);
    done += power;
  }
  return sum;
}

/// The sum of an array of extents `sizes`: along the first axis, then along the next.
template <class A, class Add = std::plus<>>
A tree(std::vector<A> terms, const std::vector<std::size_t>& sizes, const Add& add = {}) {
  for (std::size_t size : sizes) {
    const std::size_t rest = terms.size() / size;
    std::vector<A> folded(rest), column(size);
    for (std::size_t r = 0; r < rest; ++r) {
      for (std::size_t i = 0; i < size; ++i) column[i] = terms[i * rest + r];
      folded[r] = tree(column, add);
    }
    terms = folded;
  }
  return terms[0];
}

/// Additions that one value can go through in that tree.
inline int tree_depth(const std::vector<std::size_t>& sizes) {
  int depth = 0;
  for (std::size_t size : sizes) depth += static_cast<int>(std::bit_width(size)) + std::popcount(size);
  return depth;
}

}  // namespace oriel::reference
