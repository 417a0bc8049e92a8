// The part of a fold that one thread works on, and rows of its inputs as accumulators.
#pragma once

#include "cpu/plan/fold.h"
#include "cpu/plan/tiling.h"
#include "cpu/rows/row_slots.h"

namespace oriel::cpu {

/// What the stages of a fold by rows share.
struct RowPart {
  /// `scan_order`: axes are folded from the problem's last on, so that taps are combined in scan order.
  RowPart(const FoldJob& fold, const RowReduction& reduction, const Tiling& cut, bool scan_order, Arena& arena);

  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  const Axis& axis(int number) const { return layout.axis[at(number)].axis; }
  bool folds_row_axis_first() const { return order[0] == layout.row_axis; }
  /// Puts identities around a row of inputs in a slot; they stay until the tile changes its length.
  void fill_margins(RowSlots& slots, RowOut row) const;

  const FoldJob& job;
  const RowLayout& layout;
  const RowReduction& how;
  const Tiling& tiling;
  const bool repeats;                         // a tap that is folded twice changes nothing
  InlineList<int, kMaxPooledAxes> order;      // in which the pooled axes are folded
  std::array<index_t, kMaxPooledAxes> radix;  // what a tap adds to a code, by pooled axis
  RowOut identity;                            // a row of absent taps

  RowTile tile;
  index_t tile_number = -1;
  index_t task = 0;
};

/// Rows of inputs: where they lie, or lifted.
class RowSource {
 public:
  explicit RowSource(const RowPart& part);

  /// Whether rows of x are rows of accumulators.
  bool is_in_place() const { return in_place_; }
  /// Makes room for so many lifted rows, with places for identities around them or without. Not asked for where all are
  /// ascending rows.
  void make(index_t count, bool margins, Arena& arena);

  /// Before another task. Of rows that ascend, `inputs` are all that it reads.
  void begin(index_t plane, Range inputs);
  /// Whether rows are read where they lie and not looked at; nothing is remembered of such rows.
  bool is_plain() const { return in_place_ && part_.how.scan == nullptr; }
  RowIn plain_row(const RowCoords& c) const {
    return {x_ + row_offset(part_.layout, c, kX) * part_.how.in_bytes, nullptr, 0};
  }
  /// Any other row, that at c. Slot `slot` may hold it; `number` is its own among all rows of the task.
  RowIn row(const RowCoords& c, index_t slot, std::uint64_t number);
  /// Of rows in place that are asked for in ascending order along their only axis: the one of an input of it.
  const void* ascending_row(index_t input) {
    if (input < 0) return part_.identity.value;
    if (part_.how.scan != nullptr && input >= scanned_) scan_ahead(input);
    return x_ + input * ascending_pitch_;
  }
  /// Where the first of them lies.
  const std::byte* first() const { return x_; }
  void ascend(int axis) { ascending_pitch_ = part_.layout.axis[RowPart::at(axis)].pitch[kX] * part_.how.in_bytes; }

  /// Whether a row held a value that needs the careful reduction.
  bool special() const { return special_; }
  /// Bytes that are scanned at a time, to be in the first cache when they are folded.
  static constexpr index_t kScanBytes = index_t{4} << 10;

 private:
  void scan_ahead(index_t input);
  void gather_raw(const std::byte* x) const;

  const RowPart& part_;
  const bool dense_;      // rows of x are contiguous
  const bool in_place_;   // then only what has been scanned is remembered
  bool margins_ = false;  // places for identities around lifted rows
  index_t before_ = 0;    // elements of them before a row
  RowSlots slots_;
  std::byte* raw_ = nullptr;  // gathered elements, before they are lifted

  const std::byte* x_ = nullptr;
  index_t ascending_pitch_ = 0;  // in bytes
  index_t scan_end_ = 0;
  index_t scanned_ = 0;  // inputs that are scanned, of rows that ascend
  bool special_ = false;
};

}  // namespace oriel::cpu
