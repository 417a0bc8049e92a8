// One thread's part of a fold axis by axis: a box of outputs from accumulators of all inputs that it reads.
#pragma once

#include "cpu/long/axis_folder.h"
#include "cpu/plan/counts.h"
#include "cpu/plan/fold.h"
#include "cpu/plan/output_box.h"
#include "cpu/recipe/recipe.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// The size of boxes whose accumulators stay in a cache, as far as that does not fold much twice.
OutputBox axes_box_size(const FoldJob& job, const RowReduction& how, const OutputBox& whole);

class AxesFolder {
 public:
  /// Takes its memory from `arena`, which it resets for every box.
  AxesFolder(const FoldJob& job, const RowReduction& how, Arena& arena) : AxesFolder(job, how, false, nullptr, arena) {}
  /// For values alone, in the exact way; `nan` as for exact_recipe.
  AxesFolder(const FoldJob& job, const RowReduction& exact, Nan nan, Arena& arena);

  /// False when how.scan found a value that needs the careful reduction; then nothing is written.
  bool fold(index_t plane, const OutputBox& box);

 private:
  // `scan_order`: axes are folded from the problem's last on, else from its first.
  AxesFolder(const FoldJob& job, const RowReduction& how, bool scan_order, FoldFirstRows first_rows, Arena& arena);

  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  void set_box(index_t plane, const OutputBox& box);
  template <class Body>
  void each_row(const Body& body) const;
  RowOut as_it_lies() const;
  bool lift(const RowOut& to) const;
  bool is_special(const std::byte* x, std::byte* raw) const;
  AxisView view_of(int a) const;
  void lower(const RowOut& row) const;
  LowerParams lower_params(const RowCoords& o) const;
  void count_taps();

  const FoldJob& job_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const bool scan_order_;
  Arena& arena_;
  AxisFolder one_;
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
};

}  // namespace oriel::cpu
