// The kernels of medians of 3x3 and 5x5 taps, per instruction set: networks that are known while compiling, so that
// values stay in registers.
#pragma once

#include "cpu/networks/selection.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// Rows of outputs below each other, whose windows begin one row apart. No element beside those of the windows is read
/// or written.
struct MedianStrip {
  const void* const* rows = nullptr;  // outputs + size - 1 rows of inputs
  void* const* y = nullptr;           // outputs rows
  index_t outputs = 1;                // at most 2 * 64
  index_t step = 1;                   // lanes between neighbouring taps
  index_t lanes = 0;                  // at least kRankVectorBytes
  std::byte* scratch = nullptr;       // kMedianScratchRows rows
  index_t pitch = 0;                  // bytes of such a row: those of the lanes, of all their taps, and 128 more
  index_t next = 0;                   // bytes from a row of inputs to the next one, about
};

/// Whether a window has a NaN: bit b for the outputs 2 b and 2 b + 1, or those of the last two rows. Their results are
/// of no use.
using MedianKernel = std::uint64_t (*)(const MedianStrip& strip);

inline constexpr index_t kMedianRows = 128;  // of outputs, of a strip
inline constexpr index_t kMedianScratchRows = 18;

/// That for elements of a dtype, null if there is none but for its keys; `size` is 3 or 5.
MedianKernel median_kernel(Dtype dtype, index_t size);  // of the instruction set in use

}  // namespace oriel::cpu
