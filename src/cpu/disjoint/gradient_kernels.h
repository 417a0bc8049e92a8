// Kernels for gradients of windows that share no input.
#pragma once

#include "cpu/element/kinds.h"

namespace oriel::cpu {

/// A run of inputs that windows look at, and of their gradients.
struct ApartTap {
  const void* x;
  void* dx;
};

/// Windows whose taps are all there, `times` of them (or rows of them) one after the other; from one to the next it is
/// so many bytes.
struct ApartRun {
  index_t times = 1;
  index_t x = 0;
  index_t dx = 0;
  index_t dy = 0;
};

/// Taps come in scan order. `along`: windows beside each other along rows, step = 2, 3 or 4 apart and as wide; tap t of
/// window i in row r is element i * step + t. `lanes`: window i of n has element i of every tap.
struct ApartKernels {
  /// Max and min of f32 and f64: dx = dy where an input is its window's extremum, the last NaN or else the first of the
  /// best (S3, S4), and 0 elsewhere.
  void (*choose_along)(const ApartTap* rows, int count, int step, const void* dy, index_t n,
                       const ApartRun& run) = nullptr;
  void (*choose_lanes)(const ApartTap* taps, int count, const void* dy, index_t n, const ApartRun& run) = nullptr;
  /// Sums: dx = dy / divisor for all taps of a window; n is no less than `vector`.
  void (*spread_along)(const ApartTap* rows, int count, int step, const void* dy, index_t n, double divisor,
                       const ApartRun& run) = nullptr;
  void (*spread_lanes)(const ApartTap* taps, int count, const void* dy, index_t n, double divisor,
                       const ApartRun& run) = nullptr;
  /// The same of windows beside each other, `step` positions of `lanes` elements apart and as wide, of which each is
  /// lanes.n windows. `stream`: past the caches, and then positions are whole lines of them.
  void (*spread_positions)(const ApartTap* rows, int count, int step, const void* dy, index_t windows, index_t lanes,
                           double divisor, bool stream, const ApartRun& run) = nullptr;
  index_t vector = 1;
};

/// The kernels of one instruction set.
struct ApartTable {
  ApartKernels (*kernels)(Op op, Dtype dtype) = nullptr;  // null members where there are none
};

/// The table of the instruction set in use.
const ApartTable& apart_table();

}  // namespace oriel::cpu
