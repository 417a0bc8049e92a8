// Kernels for gradients of extrema from stored codes: the numbers of the taps that windows chose, 255 for none (S10).
#pragma once

#include <cstdint>

#include "cpu/code_gradient/check_kernels.h"
#include "cpu/runtime/row_lists.h"
#include "oriel/problem.h"

namespace oriel::cpu {

/// Above every code of a gathered window, and stays so when a tap of it is added; no code either.
inline constexpr Code kNeverCode = 128;
inline constexpr index_t kMostGatheredTaps = 127;
inline constexpr int kMostCodeLanes = 16;  // of a vector

/// Outputs that inputs side by side look at, an output for each lane: lane l takes the gradient of output
/// first + from[l] if its code is tap[l] more than that of the row; kNeverCode: it looks at none. Where all lanes look
/// at first + l, nothing is permuted.
struct CodeTerm {
  std::int32_t first;
  bool permuted;
  alignas(16) std::uint8_t from[kMostCodeLanes];
  alignas(16) Code tap[kMostCodeLanes];
};

/// Outputs that an input looks at, or a row of inputs: where their gradients and codes are from the first one's on,
/// elements, and what their taps add to codes.
struct CodeReader {
  index_t dy;
  index_t code;
  index_t tap;
};

/// Rows of inputs that are alike: vector v goes to element at[v] and is a sum by the terms of list v, for each reader
/// of its row. Rows of channels: `columns` lists the readers of a position. Woven rows: `windows` along them; for
/// each `lanes` * stride inputs of a row, and each of the outputs that they begin to look at, kMostCodeLanes bytes of
/// `never`, which are kNeverCode where such an output is none, and else 0.
struct GatheredRows {
  OverlapList<CodeReader> readers;  // by row of inputs
  const index_t* dx = nullptr;      // where rows begin, elements
  OverlapList<CodeTerm> vectors;    // gather_along:
  const index_t* at = nullptr;      //
  bool single = false;              // every vector has one term
  OverlapList<CodeReader> columns;  // gather_lanes:
  index_t column_pitch = 0;         //
  index_t lanes = 1;                //
  OverlapWindows windows;           // gather_woven:
  const Code* never = nullptr;      //
};

/// Windows whose inputs are gathered in every stride-th place, and woven.
constexpr bool is_woven(index_t kernel, index_t stride) {
  return is_overlap(kernel, stride) || (kernel == 2 && stride == 2);
}
/// Output number of every stride-th input less that of the first of them, for the input's tap: `phase` is -first modulo
/// the stride, and input `woven_phase` + n * stride is read by output n + woven_ahead - first / stride (rounded down).
constexpr int woven_phase(int tap, int stride, int phase) { return ((tap - phase) % stride + stride) % stride; }
constexpr int woven_ahead(int tap, int stride, int phase) {
  return (woven_phase(tap, stride, phase) + phase - tap) / stride;
}

constexpr int woven_aheads(int kernel, int stride, int phase) {
  int most = woven_ahead(0, stride, phase);
  for (int tap = 1; tap < kernel; ++tap)
    most = most < woven_ahead(tap, stride, phase) ? woven_ahead(tap, stride, phase) : most;
  return most - woven_ahead(kernel - 1, stride, phase) + 1;
}

/// Where a plane begins.
struct CodePlane {
  const std::byte* dy;
  const Code* code;
  std::byte* dx;
};

/// Floating types. Sums in accumulators, by readers and terms as they stand (S9), rounded once.
struct CodeGatherKernels {
  /// Rows [rows.begin, rows.end) of a plane. May read a vector of gradients and codes where terms begin. `stream`: past
  /// the caches; vectors must then be aligned to 64 bytes or to their own size.
  void (*gather_along)(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) = nullptr;
  /// The same of channels, at least a vector of them.
  void (*gather_lanes)(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) = nullptr;
  /// The same along rows with windows that is_woven, by AVX2 and AVX-512.
  void (*gather_woven)(const GatheredRows& all, Range rows, const CodePlane& plane, bool stream) = nullptr;
  index_t lanes = 0;  // of a vector; 0: there are no kernels
};

/// The kernels of one instruction set.
struct CodeGatherTable {
  CodeGatherKernels (*kernels)(Dtype dtype) = nullptr;
};

/// The table of the instruction set in use.
const CodeGatherTable& code_gather_table();

}  // namespace oriel::cpu
