// Extrema of floats that hold NaN and zeros of both signs, without the codes of taps: folds that keep the first of
// equals, and the search of one window.
#pragma once

#include "cpu/element/kinds.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// Where a run's extremum is: of NaN the last one (S3), of equals the first (S4); kNowhere: there is none.
inline constexpr index_t kNowhere = -1;
/// The place was not asked for, and there is no need of it: the extremum has been written.
inline constexpr index_t kWritten = -2;

/// Looks for the extremum of n > 0 contiguous elements; `omit`: among those that are no NaN. Where `value` is given
/// only that is asked for, as an element, and may be written instead of found.
using SeekExtremum = index_t (*)(const void* x, index_t n, bool omit, void* value);

/// Windows of `kernel` rows that begin at `windows` rows one after the other, `pitch` elements apart in x as in out: of
/// n elements side by side the first best, by van Herk's and Gil and Werman's way.
struct FirstRows {
  const void* x = nullptr;
  index_t pitch = 0;
  index_t n = 0;
  index_t kernel = 1;
  index_t windows = 0;
  void* out = nullptr;
  void* scratch = nullptr;  // kernel * kFirstStripBytes
};
using FoldFirstRows = void (*)(const FirstRows& rows);
inline constexpr index_t kFirstStripBytes = 4 * 64;

/// Whether there may be a NaN among what is folded.
enum class Nan : bool { absent, possible };

enum class Extremum : std::uint8_t { max, min, magnitude };  // magnitude: of floats, the greatest

struct ExactTable {
  /// f32, f64: of taps in scan order the first best, or a NaN where there is one.
  FoldKernels (*first)(Op op, Lane lane, Nan nan) = nullptr;
  FoldFirstRows (*first_rows)(Op op, Lane lane, Nan nan) = nullptr;  // of the same
  /// Floats to f32 or f64 lanes, a NaN to what loses against all: an absent tap.
  LiftRow (*numbers)(Extremum kind, Dtype from, Lane to) = nullptr;
  SeekExtremum (*seek)(Extremum kind, Dtype dtype) = nullptr;  // null: none for it
};

/// The table of the instruction set in use.
const ExactTable& exact_table();

}  // namespace oriel::cpu
