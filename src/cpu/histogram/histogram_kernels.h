// The kernels of order statistics of bytes by counting, per instruction set. A column of inputs has 16 counts: how many
// of its elements are at most 16 c + 15 for c in 0 ... 15; and 16 more for each c: how many of those in 16 c ... 16 c +
// 15 are at most 16 c + f.
#pragma once

#include <cstdint>

#include "oriel/types.h"
#include "oriel/window.h"

namespace oriel::cpu {

inline constexpr index_t kBins = 16;
inline constexpr index_t kMostColumnTaps = 255;    // counts of columns are bytes
inline constexpr index_t kMostWindowTaps = 65535;  // of windows u16

/// Counts of columns beside each other.
struct ColumnCounts {
  std::uint8_t* coarse = nullptr;  // columns x kBins
  std::uint8_t* fine = nullptr;    // kBins x columns x kBins
  index_t columns = 0;
};

/// Elements of one row that enter or leave columns. Valid elements alone count.
struct CountedRow {
  const std::uint8_t* x = nullptr;  // bytes: u8, i8 or bool
  index_t pitch = 1;
  const std::uint8_t* mask = nullptr;  // null: none
  index_t mask_pitch = 1;
};

/// How bytes are read.
struct ByteRule {
  std::uint8_t flip = 0;  // of i8, so that keys are unsigned
  bool boolean = false;
  bool has_nodata = false;
  std::uint8_t nodata = 0;  // a key
};

/// Windows along a row of columns.
struct CountedWindows {
  ColumnCounts counts;
  const Range* windows = nullptr;  // columns of each output; both ends ascend
  Range sliding;                   // outputs whose windows are one column behind those of the output before
  bool whole = false;              // every element is valid
  index_t outputs = 0;
  const std::uint16_t* const* ranks = nullptr;  // of each wanted key, its place among n valid taps for every n
  index_t wanted = 1;
  std::uint8_t* const* keys = nullptr;  // of each wanted key, one for each output; any if there is no valid tap
  std::uint16_t* valid = nullptr;       // taps of each output
  std::uint8_t* bins = nullptr;         // scratch of `outputs`
  std::uint16_t* rests = nullptr;       // the same
};

struct HistogramKernels {
  void (*enter)(const CountedRow& row, const ByteRule& rule, const ColumnCounts& counts) = nullptr;
  void (*leave)(const CountedRow& row, const ByteRule& rule, const ColumnCounts& counts) = nullptr;
  void (*replace)(const CountedRow& out, const CountedRow& in, const ByteRule& rule,
                  const ColumnCounts& counts) = nullptr;
  void (*find)(const CountedWindows& windows) = nullptr;
};

const HistogramKernels& histogram_kernels();  // of the instruction set in use

}  // namespace oriel::cpu
