// The language's arithmetic on single elements: f32, and one rounding to the destination's dtype.
#pragma once

#include <cmath>
#include <cstring>

#include "oriel/tile/ir.h"

namespace oriel::tile {

/// An element widened to f32 (32-bit integers beyond 2^24 are rounded, as NKI documents).
template <class T>
inline float widened(T value) {
  return static_cast<float>(value);
}

/// f32 to T: floats to nearest even; integers to nearest even, saturating, NaN as 0.
template <class T>
inline T narrowed(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    const double rounded = std::nearbyint(static_cast<double>(value));
    if (rounded <= static_cast<double>(lowest_value<T>())) return lowest_value<T>();
    if (rounded >= static_cast<double>(highest_value<T>())) return highest_value<T>();
    return static_cast<T>(rounded);
  } else {
    throw Error("tile: no arithmetic in this dtype");  // the recorder refuses such tensors
  }
}

/// The greater one; a NaN wins, and of equal ones a.
inline float greater_of(float a, float b) { return b > a || (std::isnan(b) && !std::isnan(a)) ? b : a; }
inline float lesser_of(float a, float b) { return b < a || (std::isnan(b) && !std::isnan(a)) ? b : a; }

inline float apply(Alu alu, float a, float b) {
  switch (alu) {
    case Alu::add:
      return a + b;
    case Alu::subtract:
      return a - b;
    case Alu::multiply:
      return a * b;
    case Alu::divide:
      return a / b;
    case Alu::max:
      return greater_of(a, b);
    case Alu::min:
      return lesser_of(a, b);
    case Alu::equal:
      return a == b ? 1 : 0;
    case Alu::not_equal:
      return a != b ? 1 : 0;
    case Alu::less:
      return a < b ? 1 : 0;
    case Alu::less_equal:
      return a <= b ? 1 : 0;
    case Alu::greater:
      return a > b ? 1 : 0;
    case Alu::greater_equal:
      return a >= b ? 1 : 0;
    case Alu::absolute:
      return std::fabs(a);
    case Alu::square:
      return a * a;
    case Alu::sqrt:
      return std::sqrt(a);
    case Alu::reciprocal:
      return 1 / a;
  }
  return 0;
}

/// Element i of memory of that dtype as f32, and back.
inline float load_element(const void* data, Dtype dtype, index_t i) {
  return visit(dtype, [&]<class T>() { return widened(static_cast<const T*>(data)[i]); });
}
inline void store_element(void* data, Dtype dtype, index_t i, float value) {
  visit(dtype, [&]<class T>() { static_cast<T*>(data)[i] = narrowed<T>(value); });
}

/// True when a copy moves bits instead of converting.
inline bool copies_bits(const Program& program, const Instruction& i) {
  return program.tensor(i.src[0].tensor).dtype == program.tensor(i.dst.tensor).dtype;
}

}  // namespace oriel::tile
