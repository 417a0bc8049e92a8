// One thread's part of finding the places of extrema: the bests of a box of outputs, and the taps they came from.
#pragma once

#include "cpu/argmax/argmax_kernels.h"
#include "cpu/plan/layout.h"
#include "cpu/recipe/kernels.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

/// Outputs, or inputs, of the pooled axes.
using PlaceBox = std::array<Range, kMostPlaceAxes>;
using PlaceCoords = std::array<index_t, kMostPlaceAxes>;

/// Whether PlaceFolder takes a problem: max and min, few taps along every axis, and no window without one.
bool finds_places(const Problem& problem, const RowLayout& layout);

/// How large boxes of outputs should be: what is kept of them fits the second cache, `box_bytes` of it if there is so
/// much, and little is done twice.
PlaceCoords place_box_size(const RowLayout& layout, index_t value_bytes, index_t box_bytes, int threads);

inline constexpr index_t kBoxBytes = index_t{24} << 10;  // in the first cache

/// The outputs, or the inputs, of all planes cut into boxes of a size.
class PlaceBoxes {
 public:
  PlaceBoxes(const RowLayout& layout, const PlaceCoords& size, bool of_inputs);

  index_t count = 0;
  index_t plane(index_t number) const { return boxes_ == 1 ? number : number / boxes_; }
  PlaceBox box(index_t number) const;

 private:
  const RowLayout& layout_;
  PlaceCoords size_, n_{1, 1, 1}, parts_{1, 1, 1};
  index_t boxes_ = 1;  // of a plane
};

/// Of windows along rows, at most.
inline constexpr index_t kMostPlaceStep = 64;

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

  /// The bests and codes of one row of the box, at `o` from its begin; both need room for a vector more.
  void fold(const PlaceCoords& o, void* value, void* code) const;
  /// The same with indices; false where that is not for this problem, and nothing is done.
  bool fold_indexed(const PlaceCoords& o, void* value, const std::int32_t* base, std::int64_t origin, bool stream,
                    std::int64_t* index) const;

  const PlaceKernels& kernels() const { return k_; }
  index_t row_elems() const { return sub_[at(last_)].out * lanes_; }
  /// The part of an axis that the box looks at, and where its inputs begin in the whole axis.
  const Axis& axis(int a) const { return sub_[at(a)]; }
  index_t in_begin(int a) const { return in_begin_[at(a)]; }

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  void set_box(const PlaceBox& outputs);
  void set_row();
  bool is_read(const PlaceCoords& c) const;
  Range taps(int a, index_t o) const {
    return full_[at(a)].contains(o) ? Range{0, sub_[at(a)].kernel} : sub_[at(a)].taps(o);
  }
  const std::byte* dense_row(const std::byte* x);
  bool lift_row(const std::byte* x, index_t slot);
  void fold_slots(index_t first_row, index_t slots);
  int window_taps(const PlaceCoords& o, PlaceTap* taps) const;
  int across_rows(const PlaceCoords& o, index_t* rows, index_t* codes) const;
  bool fold_in_place(const std::byte* x, index_t row);
  void fold_run(const std::byte* x, index_t pitch, Range outputs, Range taps, index_t row);
  std::byte* value_of(index_t row) const { return value_ + row * row_pitch_ * k_.value_bytes; }
  std::byte* code_of(index_t row) const { return code_ + row * row_pitch_ * k_.value_bytes; }

  const RowLayout& layout_;
  PlaceKernels k_;
  ScanRow scan_ = nullptr;
  const int last_;  // the pooled axis along rows
  const index_t lanes_;
  const index_t elem_bytes_;
  const bool dense_;       // rows of x are contiguous
  const bool by_element_;  // lanes fill vectors, and rows are read where they lie
  const bool whole_;       // few taps: folded from lifted rows at once
  std::array<unsigned char, 8> worst_{};
  PlaceCoords step_{};  // of codes, from the last axis on

  PlaceBox box_{};
  std::array<Axis, kMostPlaceAxes> sub_{};
  PlaceCoords in_begin_{};
  std::array<Range, kMostPlaceAxes> full_{};  // outputs of an axis with all their taps
  std::array<bool*, kMostPlaceAxes> read_{};  // by input of an axis: whether a window reads it
  bool all_read_ = true;
  index_t pitch_ = 0;      // from one lifted row to the next
  index_t row_pitch_ = 0;  // from one folded row to the next, elements
  index_t phase_bytes_ = 0;
  std::array<std::byte*, kMostPlaceStep> phase_{};  // where the first inputs of a row go, in slot 0
  std::array<const void*, kMostPlaceTaps> tap_{};   // where a row's taps begin, in slot 0
  index_t slots_ = 1;                               // rows that are lifted before they are folded along
  std::byte* lifted_ = nullptr;
  std::byte* raw_ = nullptr;    // a row made dense
  std::byte* flat_ = nullptr;   // a lifted row before its elements are dealt out to phases
  std::byte* first_ = nullptr;  // codes of the first taps
  bool first_differs_ = false;  // some window lacks its tap 0
  std::byte* value_ = nullptr;
  std::byte* code_ = nullptr;
};

}  // namespace oriel::cpu
