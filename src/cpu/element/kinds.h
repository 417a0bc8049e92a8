// What elements are folded as, and what becomes of them before and after.
#pragma once

#include <cstdint>

#include "oriel/types.h"

namespace oriel::cpu {

// Types that the fold kernels work in. Element types map onto them: f16 and bf16 extrema as ordered i16 keys, bool as
// u8.
enum class Lane : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };
constexpr index_t size_bytes(Lane lane) {
  switch (lane) {
    case Lane::u8:
    case Lane::i8:
      return 1;
    case Lane::u16:
    case Lane::i16:
      return 2;
    case Lane::u32:
    case Lane::i32:
    case Lane::f32:
      return 4;
    default:
      return 8;
  }
}

// What becomes of an element before the fold.
enum class Lift : std::uint8_t {
  none,   // rows are folded where they lie
  copy,   // only gathered: the element type is the lane type
  key,    // f16, bf16 -> i16 in the same order
  widen,  // to the accumulator
  absolute,
  square,
  power,
  arg_max,      // to an ordered lane, and code 0
  arg_min,      // the same with the order reversed
  arg_absolute  // |x| to an ordered lane, and code 0
};

// What becomes of a folded row.
enum class Lower : std::uint8_t {
  none,  // the last fold writes the result itself
  copy,
  key,
  round,       // accumulator -> element type, rounded once; a window without a tap gives 0
  average,     // divided, then rounded once
  root,        // Lp
  floor_zero,  // Lp with p = inf: a window without a tap gives 0
  arg_max,
  arg_min,
  arg_absolute,
  gradient  // + 0.0, rounded once
};

/// Lanes of code for tap codes: absent candidates carry kAbsent or more, and lose every tie.
template <class Code>
inline constexpr Code kAbsent = static_cast<Code>(Code{1} << (8 * sizeof(Code) - 2));

}  // namespace oriel::cpu
