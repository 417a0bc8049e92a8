// The part of a gradient of extrema that overlap kernels do: boxes of rows, with lists that planes share.
#pragma once

#include "cpu/argmax/boxes.h"
#include "cpu/box_gradient/overlap_kernels.h"
#include "cpu/plan/layout.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

/// Which operands of a layout are the tensors of a gradient, what a tap of each axis adds to a code (from the last axis
/// on), and whether codes come from x.
struct OverlapJob {
  const Problem& problem;
  const RowLayout& layout;
  Operand dx;
  PlaceCoords code_step;
  bool from_x;
};

/// Whether overlap kernels may take a problem, if the instruction set has any: f32 and f64, few taps along dense rows.
bool overlaps(const OverlapJob& job);

class OverlapBox {
 public:
  /// For boxes of at most so many inputs and outputs. Takes its memory from the arena, which must not be reset while it
  /// lives.
  OverlapBox(const OverlapJob& job, const PlaceCoords& inputs, const PlaceCoords& outputs, Arena& arena);

  /// Whether there are kernels; nothing else may be called otherwise.
  bool takes() const { return k_.gather != nullptr; }

  void set(const PlaceBox& inputs, const PlaceBox& outputs);

  /// The codes of the box; x is where its plane begins. False where a row holds a NaN, or both infinities.
  bool choose(const std::byte* x, const OverlapRows& rows) const;
  /// The box of dx, which is where its plane begins, from the rows of outputs that read each of its rows.
  void gather(const OverlapRows& rows, const OverlapList<OverlapReader>& readers, bool stream, std::byte* dx) const;
  /// Whether a row of a dense dy may be read where it lies: so far before its begin, and so far from there on.
  index_t bytes_before() const { return k_.reach * elem_; }
  index_t bytes_from() const { return (gathered_.in / gathered_.stride + gathered_.kernel + k_.reach) * elem_; }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  void list_taps(const PlaceBox& outputs);

  const RowLayout& layout_;
  const Operand dx_;
  const PlaceCoords step_;
  const index_t elem_;
  const int last_;
  OverlapKernels k_;
  OverlapWindows chosen_, gathered_;  // a row of the box, counted from a row of x, and from one of dx
  OverlapList<OverlapTap> taps_;      // of rows of outputs
  index_t* offset_ = nullptr;         // of rows of dx
};

}  // namespace oriel::cpu
