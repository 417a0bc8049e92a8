// The folds of all windows along one axis of a box of accumulators.
#pragma once

#include "cpu/exact/exact_kernels.h"
#include "cpu/recipe/doubled_rows.h"
#include "cpu/recipe/pairwise_rows.h"

namespace oriel::cpu {

/// A box seen from one of its axes: `outer` times the axis, each of whose inputs is `inner` elements beside each other.
struct AxisView {
  Axis axis;
  index_t outer = 1;
  index_t inner = 1;
  index_t radix = 1;    // what one tap adds to a code
  bool slides = false;  // windows overlap so much that they are folded at every place
};

class AxisFolder {
 public:
  /// `repeats`: a tap that is folded twice changes nothing. `first_rows`: null, or how extrema are folded in the exact
  /// way. Takes its memory from `arena`, as much anew for every fold.
  AxisFolder(const RowReduction& how, bool repeats, FoldFirstRows first_rows, Arena& arena)
      : how_(how), first_rows_(first_rows), arena_(arena), doubled_(how, repeats), pairwise_(how) {}

  /// The box with the axis folded: where it lies, if outputs are its inputs.
  RowOut fold(const AxisView& view, const RowOut& from);

 private:
  void make_rooms();
  bool reads_beyond() const;
  RowIn read(const RowOut& row, index_t elems, index_t step) const {
    return shifted(how_, {row.value, row.extra, 0}, elems, step);
  }
  void copy(const RowOut& from, index_t elems, const RowOut& to) const;
  void fold_all_rows(const RowOut& from, const RowOut& to);
  void fold_places(const RowOut& from, const RowOut& to);
  RowOut places_from(const RowOut& from) const;
  void fold_first_places(const RowOut& first, const RowOut& to) const;
  void fold_first_outputs(const RowOut& from, const RowOut& to) const;
  void fold_outputs(const RowOut& from, const RowOut& to);

  const RowReduction& how_;
  const FoldFirstRows first_rows_;
  Arena& arena_;
  DoubledRows doubled_;
  PairwiseRows pairwise_;
  // The axis being folded:
  AxisView view_;
  bool at_places_ = false;  // windows are folded at every place, else output by output
  RowOut apart_, every_;    // with the places between and around inputs; results at every place
  RowOut absent_;           // taps that are not there
  RowIn* taps_ = nullptr;
  std::byte* ends_ = nullptr;  // of first_rows_, if that folds this axis
};

}  // namespace oriel::cpu
