// Small planes that lie one behind the other: all outputs of a plane are one row, whose elements look at others of the
// plane, or at nothing where a mask says so.
#pragma once

#include "cpu/element/epilogue.h"
#include "cpu/element/kinds.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

/// A number of planes. Distances are in elements.
struct PlaneStack : PlaneLowering {  // divisor_each: of every output of a plane
  const void* x = nullptr;
  index_t x_pitch = 0;  // from one plane to the next: its elements
  void* y = nullptr;
  index_t out_elems = 0;  // of a plane, and to the next
  index_t planes = 0;
  // Across. Flat: element i of a plane takes those at i + offset[t], masked; 0 for t = across / 2. Otherwise row r
  // takes the rows of in_elems that begin at offset[r * across + t] of the plane, or identities where kStackAbsent.
  bool flat = false;
  int across = 1;
  const index_t* offset = nullptr;
  const void* across_masks = nullptr;  // of tap t in vector v: number v * across + t
  const void* absent = nullptr;        // a row of elements that count as nothing
  index_t rows = 0;
  index_t in_elems = 0;
  // Between: the folded rows, readable some way before the first and after the last.
  void* folded = nullptr;
  index_t row_pitch = 0;
  index_t folded_pitch = 0;
  // Along: output i of a plane takes the folded elements begin + i * stride + t * tap_pitch, masked; stride 1 or 2.
  int along = 1;
  index_t begin = 0;
  index_t tap_pitch = 1;  // 1 where the stride is 2
  index_t stride = 1;
  const void* along_masks = nullptr;  // of tap t in vector v: number v * along + t
};

inline constexpr index_t kStackAbsent = lowest_value<index_t>();

/// The kernels of one reduction and element type; without `fold` there are none. Vectors of a plane begin at multiples
/// of `vector`, but the last one where the elements end, if there are more than one.
struct StackKernel {
  /// True when a NaN or a negative zero was met: then what was written is not to be trusted.
  bool (*fold)(const PlaneStack& stack) = nullptr;
  /// Writes the mask of one vector from `vector` bytes, 0 or 1.
  void (*write_mask)(const std::uint8_t* valid, void* masks, index_t number) = nullptr;
  index_t mask_bytes = 0;
  index_t in_bytes = 0;                   // of an element of x, and of y
  index_t lane_bytes = 0;                 // of a folded element
  index_t vector = 1;                     // lanes of a vector
  std::array<unsigned char, 8> absent{};  // an element of x that counts as nothing
  std::int16_t infinity = 0;              // for PlaneLowering
};

/// The kernels of one instruction set; older ones have none.
struct StackTable {
  StackKernel (*extremum)(Op op, Dtype dtype) = nullptr;
  StackKernel (*sum)(Dtype dtype) = nullptr;
};

/// The table of the instruction set in use.
const StackTable& stack_kernels();

void fill_stack_extremum(StackTable& table, std::size_t which);
void fill_stack_sum(StackTable& table, std::size_t which);

}  // namespace oriel::cpu
