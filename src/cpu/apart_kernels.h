// Kernels that route gradients to the extrema of windows that share no input.
#pragma once

#include "cpu/kernels.h"

namespace oriel::cpu {

/// A run of inputs that windows look at, and of their gradients.
struct ApartTap {
  const void* x;
  void* dx;
};

/// dx = dy where an input is its window's extremum, the last NaN or else the first of the best (S3, S4), and 0
/// elsewhere. Taps come in scan order. Elements are f32 or f64.
struct ApartKernels {
  /// Windows beside each other along rows, step = 2, 3 or 4 apart and as wide: tap t of window i in row r is element
  /// i * step + t.
  void (*along)(const ApartTap* rows, int count, int step, const void* dy, index_t n) = nullptr;
  /// Window i of n has element i of every tap.
  void (*lanes)(const ApartTap* taps, int count, const void* dy, index_t n) = nullptr;
};

/// The kernels of one instruction set.
struct ApartTable {
  ApartKernels (*kernels)(Op op, Lane lane) = nullptr;  // max, min; f32, f64
};

/// The table of the instruction set in use.
const ApartTable& apart_table();

void fill_apart(ApartTable& table, std::size_t which);

}  // namespace oriel::cpu
