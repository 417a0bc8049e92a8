// Kernels for gradients of extrema whose windows overlap along rows: which tap every window chose, as a code, and the
// sum of the gradients of the windows that chose an input. They take the rows of a box at once, by lists that are the
// same for every plane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/runtime/row_lists.h"
#include "oriel/problem.h"

namespace oriel::cpu {

/// A row of inputs that windows look at, `offset` bytes from the first one, and the code of its tap 0; its next taps
/// have the next codes.
struct OverlapTap {
  index_t offset;
  index_t code;
};

/// A row of outputs whose windows look at a row of inputs, and the code of tap 0 there.
struct OverlapReader {
  index_t row;
  index_t code;
};

/// Rows of codes, `pitch` bytes apart, and where the rows of gradients beside them begin.
struct OverlapRows {
  std::byte* code;
  index_t pitch;
  const std::byte* const* dy;
};

/// Max and min of f32 and f64; codes are integers of the same width.
struct OverlapKernels {
  /// The code of the first best of each window, in scan order. May write a vector where a row is shorter; what is
  /// beyond its end is no code. False, where it stops, when a row holds a NaN (or both infinities).
  bool (*choose)(const std::byte* x, const OverlapList<OverlapTap>& taps, const OverlapWindows& windows,
                 const OverlapRows& rows) = nullptr;
  /// Element i of row r, at dx + offsets[r]: 0 + the gradients of the windows that chose it, by readers, then by
  /// outputs, as they stand (S9). Reads up to `reach` elements beyond both ends of rows of codes and gradients, and the
  /// `kernel` codes nearest to an end are none. `stream`: past the caches, where rows fill whole lines.
  void (*gather)(const OverlapRows& rows, const OverlapList<OverlapReader>& readers, const OverlapWindows& windows,
                 bool stream, std::byte* dx, const index_t* offsets) = nullptr;
  index_t reach = 0;
};

/// The kernels of one instruction set.
struct OverlapTable {
  OverlapKernels (*kernels)(Op op, Dtype dtype) = nullptr;  // null members where there are none
};

/// The table of the instruction set in use.
const OverlapTable& overlap_table();

}  // namespace oriel::cpu
