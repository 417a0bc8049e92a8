// Rows of results from rows of accumulators that are folded.
#pragma once

#include "cpu/plan/counts.h"
#include "cpu/rows/row_source.h"

namespace oriel::cpu {

class RowResults {
 public:
  RowResults(const RowPart& part, Arena& arena);

  /// Before another tile, and before another task.
  void set_tile();
  void begin(index_t plane);

  /// Before a row of outputs, which begins at an element of y's plane. Returns where its accumulators are to be folded
  /// to: right into y if they are results.
  RowOut begin_row(index_t offset) {
    row_ = y_ + offset * part_.how.out_bytes;
    return is_direct_ ? RowOut{row_, nullptr} : folded_;
  }
  /// Makes results, and indices, of what has been folded there: the row c.
  void finish(const RowCoords& c) const;

 private:
  LowerParams params(const RowCoords& c) const;
  void write_indices(const RowCoords& c) const;

  // An axis across rows.
  struct Counted {
    int number = 0;
    const Axis* axis = nullptr;
    Range full;  // outputs with all their taps
  };

  const RowPart& part_;
  const bool is_direct_;
  RowOut folded_;
  RowRun* runs_ = nullptr;
  LowerParams along_;  // of the tile's rows
  InlineList<Counted, kMaxPooledAxes> across_;
  std::byte* y_ = nullptr;
  std::byte* row_ = nullptr;
  std::byte* index_ = nullptr;
  index_t flat_ = 0;
};

}  // namespace oriel::cpu
