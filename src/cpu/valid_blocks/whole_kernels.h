// Sums of integers over boxes: over the rows of a window column by column, then along the row.
#pragma once

#include "cpu/valid_blocks/fold_kernels.h"

namespace oriel::cpu {

/// What the sums of columns are.
enum class ColumnLane : std::uint8_t { i16, u16, i32, i64 };
constexpr index_t size_bytes(ColumnLane lane) { return lane == ColumnLane::i64 ? 8 : lane == ColumnLane::i32 ? 4 : 2; }

/// Rows of x that are added element by element.
struct ColumnRows {
  const void* const* rows = nullptr;
  index_t count = 0;  // at least 1
  index_t first = 0;  // of the elements
  index_t n = 0;
  void* sums = nullptr;  // n of them
  void* high = nullptr;  // of 64-bit integers: those of the upper halves, where `sums` are those of the lower
};
using SumColumns = void (*)(const ColumnRows& rows);

/// Windows along a row of groups of `lanes` sums of columns.
struct AlongSums {
  const void* sums = nullptr;
  index_t outputs = 0;
  index_t kernel = 1, stride = 1, dilation = 1, lanes = 1;
  void* room = nullptr;  // for 2 (stride outputs + extent + 2) lanes accumulators
  void* out = nullptr;
};
using SumAlong = void (*)(const AlongSums& row);

/// Numbers from sums of both halves of 64-bit integers.
struct LongRow {
  const void* low = nullptr;
  const void* high = nullptr;
  index_t n = 0;
  index_t divisor = 0;  // 0: a sum
  void* y = nullptr;
};
using FinishLong = void (*)(const LongRow& row);

struct WholeKernels {
  SumColumns columns = nullptr;
  SumAlong along = nullptr;
  FinishLong finish = nullptr;  // of 64-bit integers
};

/// Those of the instruction set in use, for results of f32 or f64 if x is of 64 bits.
WholeKernels whole_kernels(Dtype x, ColumnLane column, TapLane lane, Dtype result);

}  // namespace oriel::cpu
