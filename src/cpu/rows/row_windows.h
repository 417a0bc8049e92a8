// Windows along one row: nearly always rows folded into one, which are the same row seen at several offsets.
#pragma once

#include "cpu/recipe/doubled_rows.h"
#include "cpu/rows/row_source.h"
#include "cpu/simd/strided_copy.h"

namespace oriel::cpu {

/// Neighbours of a row of single lanes become one.
class RowHalves {
 public:
  RowHalves(const RowReduction& how, StridedCopy copy, index_t radix) : how_(how), copy_(copy), radix_(radix) {}

  /// Makes room for halves of rows of 2 * `elems` elements.
  void make(index_t elems, Arena& arena);
  /// The same, for windows of `kernel` taps that are folded one by one.
  void make_alone(index_t kernel, Arena& arena);

  /// Halves a row whose first n + n elements are read, into one of two rooms in turn; codes of the second of a pair are
  /// row.step more.
  RowIn halve(RowIn row, index_t n, int room);
  /// The fold of `width` neighbours, `apart` elements from one to the next, by the tree of S8.
  void fold_window(RowIn row, index_t width, index_t apart, RowOut out);

 private:
  static constexpr int kMostPowers = 64;  // of two, in a window

  const RowReduction& how_;
  const StridedCopy copy_;
  const index_t radix_;
  RowSlots halves_;
  RowSlots pairs_;  // the first of every two, and the second
  RowSlots rests_;  // of a window's powers of two
};

/// The windows along the row axis.
class RowWindows {
 public:
  /// `in_place`: rows of inputs are rows of x.
  RowWindows(const RowPart& part, bool in_place, Arena& arena);

  /// One row of outputs from a row of inputs.
  void fold(RowIn src, RowOut out);

  /// Whether all rows of inputs of a tile can be folded at one place by fold_short, which asks nothing for each.
  bool are_short() const;
  void set_short(RowIn row);
  void fold_short(RowOut out) {
    if (tile_axis().stride == 1)
      part_.how.fold.fold_rows(taps_, static_cast<int>(tile_axis().kernel), part_.tile.out_elems(), out);
    else if (in_pairs_)
      part_.how.fold.fold_windows(first_, static_cast<int>(tile_axis().kernel), tile_axis().out, out, true);
    else
      fold_phases(first_, out);
  }

 private:
  const Axis& tile_axis() const { return part_.tile.axis; }
  void make_phases(const Axis& axis, Arena& arena);
  RowIn with_margins(RowIn src);
  void copy_groups(const RowIn& from, index_t stride, index_t groups, RowOut to) const;
  void fold_every_place(RowIn first, RowOut out);
  void fold_phases(RowIn first, RowOut out);
  void fold_each(RowIn origin, RowOut out);
  void fold_alone(RowIn origin, RowOut out);

  const RowPart& part_;
  const RowReduction& how_;
  const index_t radix_;
  const bool has_room_;  // rows of inputs have room for identities around them
  const StridedCopy copy_ = strided_copy();
  bool slides_ = false;    // long windows that overlap much: folded at every place
  bool alone_ = false;     // long windows that overlap little: halved one by one
  bool in_pairs_ = false;  // windows that fold_windows takes: two apart, of neighbours
  PairwiseRows powers_;
  DoubledRows doubled_;
  RowHalves halves_;
  RowSlots staging_;  // a row with its margins
  RowSlots every_;    // results at every place, of which windows that step take some
  RowSlots phases_;
  index_t phase_count_ = 0;
  index_t* phase_residue_ = nullptr;  // of every phase that a tap reads
  RowIn* taps_ = nullptr;
  RowIn first_;  // of set_short
};

}  // namespace oriel::cpu
