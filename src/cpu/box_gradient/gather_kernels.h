// Kernels for gradients that each input gathers from the windows whose extremum it is, by codes.
#pragma once

#include <cstdint>

#include "cpu/element/kinds.h"
#include "oriel/types.h"

namespace oriel::cpu {

/// Adds dy[i] where code[i] == value.
struct PlaceTerm {
  const void* code;
  const void* dy;
  std::int64_t value;
};

/// The terms of the elements of one phase, in the order in which they are added to 0.
struct PlaceTerms {
  const PlaceTerm* terms;
  int count;
};

/// Where the columns of one output may lie: from low to high, step apart; see CheckPlaces.
struct PlaceColumns {
  const std::int32_t* low;
  const std::int32_t* high;
  std::int32_t step;
};

/// Backward, in accumulators (f32, f64); codes have their width.
struct GatherKernels {
  /// Element i of out is made by the terms of phase i % step, at their element i / step; step <= 4. `stream`: past the
  /// caches, where it fills whole lines.
  void (*flat)(const PlaceTerms* phases, int step, index_t n, bool stream, void* out) = nullptr;
  /// Element l < n of position p is made by the terms at p * n + l, and goes to p * pitch + l; n >= a vector.
  void (*positions)(PlaceTerms terms, index_t positions, index_t n, index_t pitch, void* out) = nullptr;
  /// Codes of `bytes` each as codes of the accumulator's width.
  void (*widen)(const void* code, index_t bytes, index_t n, void* out) = nullptr;
  /// Indices less origin + base, as codes; -1 stays. False when one does not fit, or, where rows are given, is not in
  /// one of them (which have these values in column 0) and in a column of its window.
  bool (*relative)(const std::int64_t* index, const std::int32_t* base, index_t n, std::int64_t origin,
                   const std::int32_t* rows, int row_count, PlaceColumns columns, std::int32_t* scratch,
                   void* out) = nullptr;
  index_t vector_bytes = 0;
};

/// The kernels of one instruction set.
struct GatherTable {
  GatherKernels (*gather)(Lane lane) = nullptr;  // f32, f64
};

/// The table of the instruction set in use.
const GatherTable& gather_table();

}  // namespace oriel::cpu
