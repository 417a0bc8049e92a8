// Kernels for extrema that know where they came from. Beside every value of a row stands its code, in a lane as wide as
// the value's: the sum over the pooled axes of the tap that it was read with times a step of the axis.
#pragma once

#include <cstdint>

#include "oriel/problem.h"
#include "oriel/types.h"

namespace oriel::cpu {

inline constexpr int kMostPlaceAxes = 3;
inline constexpr index_t kMostPlaceTaps = 8;  // along one axis
inline constexpr int kPlaceBits = 3;          // of a tap, where steps are the least that keep taps apart

/// Copies a dense row of n elements as lanes of order, element i to rows[i % step][i / step]. True when the row holds a
/// value that the kernels beside it do not treat exactly.
using LiftPlaces = bool (*)(const void* x, index_t n, int step, void* const* rows);

/// The first best of some taps of one row of inputs. Element (p, l), p < positions and l < n, is element l + p * pitch
/// of every tap, and goes to p * n + l. Tap t has the code first + t * step; where `codes` is given it holds those of
/// tap 0. Where n is less than a vector, a vector is read and written all the same.
using FoldAlong = void (*)(const void* const* taps, int count, int first, int step, const void* codes,
                           index_t positions, index_t n, index_t pitch, void* value, void* code);

/// A row that holds tap t of every output.
struct PlaceTap {
  const void* value;
  int code;
};

/// The first best of few taps of all axes at once; `codes`, where given, are added to the first one's. Where n is less
/// than a vector, a vector is read and written all the same.
using FoldWindow = void (*)(const PlaceTap* taps, int count, const void* codes, index_t n, void* value, void* code);
/// The same, and index[i] = origin + base[i] + code; n is no less than a vector. `stream`: indices go past the caches,
/// where they fill whole lines.
using FoldIndexed = void (*)(const PlaceTap* taps, int count, const void* codes, index_t n, void* value,
                             const std::int32_t* base, std::int64_t origin, bool stream, std::int64_t* index);

/// A row of bests; `step` is what its codes grow by.
struct PlaceRow {
  const void* value;
  const void* code;
  int step;
};

/// The first best of some rows. Where n is less than a vector, a vector is read and written all the same.
using FoldAcross = void (*)(const PlaceRow* rows, int count, index_t n, void* value, void* code);

/// index[i] = origin + base[i] + what the code says: itself in lanes of four bytes and more; in narrower ones, which do
/// not hold it, the sum of its digits of kPlaceBits times step[axis from the last].
using WriteIndices = void (*)(const void* code, const std::int32_t* base, index_t n, std::int64_t origin,
                              const std::int32_t* step, std::int64_t* index);

/// out[i] = what the code says, as above, in the type of u8 or i32 indices: there `step` numbers the taps of a window.
using WriteCodes = void (*)(const void* code, index_t n, const std::int32_t* step, void* out);

struct PlaceKernels {
  index_t value_bytes = 0;
  index_t vector_bytes = 0;
  bool in_place = false;  // an element is a lane
  LiftPlaces lift = nullptr;
  FoldAlong along = nullptr;
  FoldAcross across = nullptr;
  FoldWindow window = nullptr;
  FoldIndexed indexed = nullptr;  // lanes of four bytes
  WriteIndices write = nullptr;
  WriteCodes write_u8 = nullptr;
  WriteCodes write_i32 = nullptr;
};

/// The kernels of one instruction set.
struct ArgmaxTable {
  PlaceKernels (*places)(Op op, Dtype dtype, bool exact) = nullptr;  // max and min; exact: of NaN and zeros too
};

/// The table of the instruction set in use.
const ArgmaxTable& argmax_table();

}  // namespace oriel::cpu
