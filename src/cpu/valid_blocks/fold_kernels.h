// Folds of the valid taps of windows, whose taps are rows: accumulators, and how many taps are valid.
#pragma once

#include "oriel/types.h"

namespace oriel::cpu {

/// Most sums that wait on the stack of a tree of taps, and most taps.
inline constexpr int kMostTreeDepth = 16;
inline constexpr index_t kMostBlockTaps = 128;  // whose sums of bytes are below 2^15

enum class TapFold : std::uint8_t { sum, nonzero, max, min };
/// What accumulators and numbers of valid taps are.
enum class TapLane : std::uint8_t { i16, i32, i64, u64, f32, f64 };
/// Which taps may be left out: none that are there, NaN, or any.
enum class TapTest : std::uint8_t { none, nan, any };

constexpr index_t size_bytes(TapLane lane) {
  return lane == TapLane::i16 ? 2 : lane == TapLane::i32 || lane == TapLane::f32 ? 4 : 8;
}

struct TapRows {
  const void* const* taps = nullptr;   // in scan order; null: absent
  const void* const* masks = nullptr;  // null: no mask
  index_t count = 0;                   // nominal taps
  index_t first = 0;                   // of the places that are folded
  index_t n = 0;
  const std::int16_t* steps = nullptr;  // of a sum of floats: TapTree's
  index_t step_count = 0;
  const std::int16_t* leaves = nullptr;  // of one whose 4 or 8 taps are all there and make an even tree; else null
  bool drop_nan = false;
  bool has_nodata = false;                         // not NaN
  alignas(8) std::array<std::byte, 8> nodata{};    // as an accumulator
  alignas(8) std::array<std::byte, 8> identity{};  // of an extremum
  void* out = nullptr;                             // n accumulators
  void* valid = nullptr;                           // n numbers of valid taps; unless there is no test
};
using FoldTapRows = void (*)(const TapRows& rows);

/// The lanes of a fold of elements of x; sums of floats into f64 if `wide`.
TapLane tap_lane(TapFold fold, Dtype x, bool wide);
/// The kernel of the instruction set in use.
FoldTapRows fold_tap_rows(TapFold fold, Dtype x, bool wide, TapTest test);

}  // namespace oriel::cpu
