// One thread's part of a fold: makes rows of outputs from rows of inputs.
#pragma once

#include "cpu/rows/row_chain.h"
#include "cpu/rows/row_results.h"

namespace oriel::cpu {

class RowFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives. `scan_order`: axes are folded from the
  /// problem's last on, so that taps are combined in scan order.
  RowFolder(const FoldJob& job, const RowReduction& reduction, const Tiling& tiling, Arena& arena,
            bool scan_order = false);
  RowFolder(const RowFolder&) = delete;
  RowFolder& operator=(const RowFolder&) = delete;

  /// Folds the rows [begin, end) of a plane's tile. False when scan found a value that needs the careful reduction;
  /// then the rows from done() on are not, or not rightly, written.
  bool fold(index_t plane, index_t tile, Range rows);
  /// After that, the first row that is not rightly written.
  index_t done() const { return done_; }

 private:
  bool is_simple() const;
  bool fold_simple(Range rows);

  RowPart part_;
  RowSource source_;
  RowWindows windows_;
  RowChain chain_;
  RowResults results_;
  index_t done_ = 0;
};

}  // namespace oriel::cpu
