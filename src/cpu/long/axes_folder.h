// One thread's part of a fold axis by axis: a box of outputs from accumulators of all inputs that it reads.
#pragma once

#include "cpu/exact/exact_kernels.h"
#include "cpu/plan/counts.h"
#include "cpu/plan/fold.h"
#include "cpu/plan/output_box.h"
#include "cpu/recipe/doubled_rows.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// The size of boxes whose accumulators stay in a cache, as far as that does not fold much twice.
OutputBox axes_box_size(const FoldJob& job, const RowReduction& how, const OutputBox& whole);

class AxesFolder {
 public:
  /// Takes its memory from `arena`, which it resets for every box. `scan_order`: axes are folded from the problem's
  /// last on, else from its first.
  AxesFolder(const FoldJob& job, const RowReduction& how, bool scan_order, Arena& arena);
  /// For values alone, in the exact way; `nan` as for exact_recipe.
  AxesFolder(const FoldJob& job, const RowReduction& exact, Nan nan, Arena& arena);

  /// False when how.scan found a value that needs the careful reduction; then nothing is written.
  bool fold(index_t plane, const OutputBox& box);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  RowIn read(const RowOut& row, index_t elems, index_t step) const;
  void copy(const RowOut& from, index_t elems, const RowOut& to) const;

  void set_box(index_t plane, const OutputBox& box);
  template <class Body>
  void each_row(const Body& body) const;
  RowOut as_it_lies() const;
  bool lift(const RowOut& to) const;
  bool is_special(const std::byte* x, std::byte* raw) const;
  RowOut fold_axis(int position, const RowOut& from);
  void fold_all_rows(const Axis& axis, const RowOut& from, index_t outer, index_t inner, index_t radix,
                     const RowOut& to);
  void fold_places(const Axis& axis, const RowOut& from, index_t inner, index_t radix, const RowOut& to);
  void fold_first_places(const Axis& axis, const RowOut& first, index_t inner, index_t places, const RowOut& to) const;
  void fold_first_outputs(const Axis& axis, const RowOut& from, index_t inner, const RowOut& to) const;
  void fold_outputs(const Axis& axis, const RowOut& from, index_t inner, index_t radix, const RowOut& to);
  void lower(const RowOut& row) const;
  LowerParams lower_params(const RowCoords& o) const;
  void count_taps();

  const FoldJob& job_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const bool scan_order_;
  FoldFirstRows first_rows_ = nullptr;  // of extrema in the exact way
  Arena& arena_;
  InlineList<int, kMaxPooledAxes> order_;        // axes by their place in a box, outermost first: the row axis last
  std::array<index_t, kMaxPooledAxes> radix_{};  // what one tap adds to a code, by axis

  // The box being folded:
  OutputBox box_;
  std::array<Axis, kMaxPooledAxes> axis_;         // cut to it
  std::array<index_t, kMaxPooledAxes> in_begin_;  // the first of its inputs
  std::array<index_t, kMaxPooledAxes> extent_{};  // by axis: inputs, or once it is folded outputs
  index_t lanes_ = 1;
  Pitches plane_{};
  RowCounts counts_;  // along its rows
  // The axis being folded:
  RowOut apart_, every_;  // with the places between and around inputs; results at every place
  DoubledRows doubled_;
  PairwiseRows pairwise_;
  RowOut absent_;  // taps that are not there
  RowIn* taps_ = nullptr;
  std::byte* ends_ = nullptr;  // of first_rows_
};

}  // namespace oriel::cpu
