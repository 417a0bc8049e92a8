// One thread's part of finding the places of extrema: the bests of a box of outputs, and the taps they came from.
#pragma once

#include <optional>

#include "cpu/argmax/boxes.h"
#include "cpu/recipe/kernels.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

/// Rows of inputs as lanes of order. Where windows step, a row is dealt out to as many rows, its phases: then a tap of
/// all windows is a run of one of them. Around the inputs stand values that are worse than any.
class LiftedRows {
 public:
  /// For boxes of at most `most` outputs; a tap adds `step` to a code. `whole`: all rows of a box are lifted before any
  /// is folded, else some of them, which one call folds. Takes its memory from `arena`, which must not be reset while
  /// this lives.
  LiftedRows(const Problem& problem, const RowLayout& layout, const PlaceKernels& kernels, bool exact,
             const PlaceCoords& most, bool whole, index_t step, Arena& arena);

  /// From now on rows are those of a part of the axis.
  void set_part(const Axis& part);
  /// Lifts the inputs of a row to slot number `slot`. True when they hold a value that must be looked at exactly.
  bool lift(const std::byte* x, index_t slot);

  index_t slots() const { return slots_; }  // rows that are lifted at a time
  index_t pitch() const { return pitch_; }  // from one slot to the next, elements
  /// Where a row of each tap begins, in slot 0.
  const void* const* taps() const { return tap_.data(); }
  /// What taps 0 add to codes, or null: nothing. Windows that lack some begin with a later one.
  const void* first_codes() const { return first_differs_ ? first_ : nullptr; }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  void set_first_codes();
  const std::byte* dense_row(const std::byte* x);

  const RowLayout& layout_;
  const PlaceKernels k_;
  const index_t lanes_;
  const index_t elem_bytes_;
  const index_t step_;
  const bool dense_;  // rows of x are contiguous
  std::array<unsigned char, 8> worst_{};
  Axis part_;
  index_t slots_ = 1;
  index_t coded_slots_ = 1;  // those with codes that outputs begin with
  index_t pitch_ = 0;
  index_t phase_bytes_ = 0;
  std::array<std::byte*, kMostPlaceStep> phase_{};  // where the first inputs of a row go, in slot 0
  std::array<const void*, kMostPlaceTaps> tap_{};
  std::byte* lifted_ = nullptr;
  std::byte* raw_ = nullptr;   // a row made dense
  std::byte* flat_ = nullptr;  // a lifted row before its elements are dealt out to phases
  std::byte* first_ = nullptr;
  bool first_differs_ = false;
};

class PlaceFolder {
 public:
  /// For boxes of at most `most` outputs; one tap of the axis `a` from the last grows codes by step[a], in lanes that
  /// hold it, otherwise by 1 << kPlaceBits * a. `exact`: rows with NaN and negative zeros are right as well. Takes its
  /// memory from `arena`, which must not be reset while it lives.
  PlaceFolder(const Problem& problem, const RowLayout& layout, const PlaceCoords& most, const PlaceCoords& step,
              bool exact, Arena& arena);

  /// Looks at the inputs of a box of outputs; x is the first element of their plane. False when they must be looked at
  /// exactly.
  bool prepare(const std::byte* x, const PlaceBox& outputs);

  /// The bests and codes of the row of the box that begins at o; both need room for a vector more.
  void fold(const PlaceCoords& o, void* value, void* code) const;
  /// The same with indices; false where that is not for this problem, and nothing is done.
  bool fold_indexed(const PlaceCoords& o, void* value, const std::int32_t* base, std::int64_t origin, bool stream,
                    std::int64_t* index) const;

  const PlaceKernels& kernels() const { return k_; }
  index_t row_elems() const { return along_.out * lanes_; }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  const Axis& axis(int a) const { return layout_.axis[at(a)].axis; }
  void set_box(const PlaceBox& outputs);
  void find_read_rows(int a);
  bool is_read(const PlaceCoords& c) const;
  bool fold_in_place(const std::byte* x, index_t row);
  void fold_run(const std::byte* x, index_t pitch, Range outputs, Range taps, index_t row);
  void fold_lifted(index_t first_row, index_t rows);
  int reads_of(const PlaceCoords& o, RowRead* reads) const;
  int window_taps(const PlaceCoords& o, PlaceTap* taps) const;
  std::byte* value_of(index_t row) const { return value_ + row * row_pitch_ * k_.value_bytes; }
  std::byte* code_of(index_t row) const { return code_ + row * row_pitch_ * k_.value_bytes; }

  const RowLayout& layout_;
  const PlaceKernels k_;
  ScanRow scan_ = nullptr;
  const int last_;  // the pooled axis along rows
  const index_t lanes_;
  const index_t elem_bytes_;
  const bool by_element_;                     // lanes fill vectors, and rows are read where they lie
  const bool whole_;                          // few taps: folded from lifted rows at once
  PlaceCoords step_{};                        // of codes, from the last axis on
  std::optional<LiftedRows> lifted_;          // unless rows are read where they lie
  std::array<Range, kMostPlaceAxes> full_{};  // outputs of an axis with all their taps
  std::array<bool*, kMostPlaceAxes> read_{};  // by input of a box along an axis: whether a window reads it
  bool all_read_ = true;
  index_t row_pitch_ = 0;  // from one folded row to the next, elements
  std::byte* value_ = nullptr;
  std::byte* code_ = nullptr;

  PlaceBox box_{}, inputs_{};
  Axis along_;                    // the last axis, cut to the box
  PlaceCoords rows_per_input_{};  // by axis: rows from one input of the box to the next
  index_t first_row_ = 0;         // what the box's first row would be, counted from the plane's
};

}  // namespace oriel::cpu
