// Which outputs an input gathers from: the rows that read its row, and places along them.
#pragma once

#include "cpu/argmax/boxes.h"
#include "cpu/box_gradient/gather_kernels.h"
#include "cpu/box_gradient/overlap_kernels.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

/// Rows of codes and rows of gradients of a box of outputs, alike: elements with margins of others on both sides.
struct OutputRows {
  index_t elem = 4;    // bytes
  index_t row = 0;     // elements of a row,
  index_t before = 0;  // before it,
  index_t after = 0;   // and after it
  std::byte* codes = nullptr;
  std::byte* gradients = nullptr;

  index_t pitch() const { return (before + row + after) * elem; }
  std::byte* code(index_t r) const { return codes + r * pitch() + before * elem; }
  std::byte* gradient(index_t r) const { return gradients + r * pitch() + before * elem; }
  /// No code beside a row, so that what is added from there is nothing.
  void close(index_t r) const;
};

/// The rows of a box of outputs that read each row of a box of inputs, in ascending order, and the codes of their taps.
class RowReaders {
 public:
  /// For boxes of at most so many inputs and outputs; a tap of axis a adds step[a from the last] to a code. Takes its
  /// memory from `arena`, which must not be reset while this lives.
  RowReaders(const RowLayout& layout, const PlaceCoords& step, const PlaceCoords& inputs, const PlaceCoords& outputs,
             Arena& arena);

  /// Lists those of a box of inputs, which the box of outputs holds all.
  void list(const PlaceBox& inputs, const PlaceBox& outputs);
  const OverlapList<OverlapReader>& all() const { return readers_; }

 private:
  const RowLayout& layout_;
  const PlaceCoords step_;
  OverlapList<OverlapReader> readers_;
};

/// The terms of rows of inputs: where a window that reads the input has its tap's code, its gradient is added.
class GatherTerms {
 public:
  /// A tap of axis a adds step[a from the last] to a code, of so many bytes. Takes its memory from `arena`, which must
  /// not be reset while this lives.
  GatherTerms(const RowLayout& layout, const PlaceCoords& step, index_t code_bytes, Arena& arena);

  /// From now on rows are those inputs of the last axis, gathered from those outputs; gives `rows` the margins that
  /// they need. False if nothing changes.
  bool set_row(Range inputs, Range outputs, OutputRows& rows);
  /// The terms of every phase of a row of inputs: in ascending order of the rows that read it, then of columns.
  const PlaceTerms* of(const OverlapReader* readers, index_t count, const OutputRows& rows);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  // A tap that reads the inputs of a phase.
  struct Shift {
    index_t phase;
    index_t code;
    index_t offset;  // bytes from the begin of a row's margin to the output that reads the first of them
  };

  const Axis& axis_;  // along rows
  const index_t lanes_;
  const index_t step_;
  const index_t code_bytes_;
  std::array<Shift, kMostPlaceTaps> shift_;
  index_t shift_count_ = 0;
  Range shifts_of_{};
  PlaceTerm* terms_;
  std::array<PlaceTerms, kMostPlaceStep> phases_;
};

}  // namespace oriel::cpu
