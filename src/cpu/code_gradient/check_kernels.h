// Kernels that look whether stored codes are of taps that exist.
#pragma once

#include <cstdint>

#include "oriel/types.h"
#include "oriel/window.h"

namespace oriel::cpu {

using Code = std::uint8_t;

/// Of windows along one axis: the taps that each output has, from low[i] on, size[i] of them; of all outputs of the row
/// low[0] and size[0] unless `each`.
struct CodeLimits {
  index_t kernel = 1;
  const std::uint8_t* low = nullptr;
  const std::uint8_t* size = nullptr;
  bool each = false;
};

/// The same of windows of at most 16 taps and 8 digits, one for each tap of each axis: a bit for each digit that a code
/// has, and for those that the windows of a row, and of an output in each row, do not have.
struct CodeBits {
  alignas(16) Code digits[16];
  const Code* row = nullptr;
  const Code* column = nullptr;
  index_t taps = 1;
};

/// The kernels of one instruction set.
struct CodeCheckTable {
  /// Whether all codes are below `taps`, or 255.
  bool (*in_window)(const Code* code, index_t n, index_t taps) = nullptr;
  /// Whether all codes, which are in their windows, are of taps that exist, or 255; axes come from the last one on.
  bool (*exist)(const Code* code, index_t n, const CodeLimits* axes, int count) = nullptr;
  /// Whether all codes of some rows, which begin at plane + begin[row], are of taps that exist, or 255.
  bool (*allowed)(const CodeBits& bits, const Code* plane, const index_t* begin, Range rows, index_t n) = nullptr;
};

/// The table of the instruction set in use.
const CodeCheckTable& code_check_table();

}  // namespace oriel::cpu
