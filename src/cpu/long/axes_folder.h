// One thread's part of a fold axis by axis: a box of outputs from accumulators of all inputs that it reads.
#pragma once

#include "cpu/exact/exact_kernels.h"
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
  /// Takes its memory from `arena`, which it resets for every box. `scan_order`: axes are folded from the problem's
  /// last on, else from its first.
  AxesFolder(const FoldJob& job, const RowReduction& how, bool scan_order, Arena& arena);
  /// For values alone, in the exact way; `nan` as for exact_recipe.
  AxesFolder(const FoldJob& job, const RowReduction& exact, Nan nan, Arena& arena);

  /// False when how.scan found a value that needs the careful reduction; then nothing is written.
  bool fold(index_t plane, const OutputBox& box);

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  using Coords = std::array<index_t, kMaxPooledAxes>;

  // A row of accumulators and their second values.
  struct Row {
    std::byte* value = nullptr;
    std::byte* extra = nullptr;
  };

  Row take(index_t elems) const;
  Row moved(const Row& row, index_t elems) const;
  RowIn read(const Row& row, index_t elems, index_t step) const;
  static RowOut write(const Row& row) { return {row.value, row.extra}; }
  void fill_identity(const Row& row, index_t elems) const;
  void copy(const Row& from, index_t elems, const Row& to) const;

  void set_box(index_t plane, const OutputBox& box);
  template <class Body>
  void each_row(const Body& body) const;
  Row as_it_lies() const;
  bool lift(const Row& to) const;
  bool is_special(const std::byte* x, std::byte* raw) const;
  Row fold_axis(int position, const Row& from);
  void fold_all_rows(const Axis& axis, const Row& from, index_t outer, index_t inner, index_t radix, const Row& to);
  void fold_places(const Axis& axis, const Row& from, index_t inner, index_t radix, const Row& to);
  void fold_first_places(const Axis& axis, const Row& first, index_t inner, index_t places, const Row& to) const;
  void fold_first_outputs(const Axis& axis, const Row& from, index_t inner, const Row& to) const;
  void fold_powers(const RowIn& first, index_t kernel, index_t move, index_t n, index_t radix, const Row& to) const;
  void fold_outputs(const Axis& axis, const Row& from, index_t inner, index_t radix, const Row& to);
  void fold_taps(index_t count, index_t n, RowOut to);
  RowIn power(const RowIn* taps, index_t count, index_t n);
  void join(const RowIn* parts, int count, index_t n, RowOut to) const;
  void lower(const Row& row) const;
  LowerParams lower_params(const Coords& o) const;
  void count_runs();

  const FoldJob& job_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const bool scan_order_;
  const bool repeats_;                  // a tap that is folded twice changes nothing
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
  RowRun* runs_ = nullptr;
  index_t run_count_ = 0;
  // The axis being folded:
  Row apart_, every_;           // with the places between and around inputs; results at every place
  std::array<Row, 64> powers_;  // folds of 2^i taps at every place, or kTurns of each one after the other
  std::array<std::uint8_t, 64> turns_{};
  Row absent_;  // taps that are not there
  RowIn* taps_ = nullptr;
  std::byte* ends_ = nullptr;  // of first_rows_
};

}  // namespace oriel::cpu
