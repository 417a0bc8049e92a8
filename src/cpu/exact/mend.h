// Maxima and minima of floats that were folded as if there were no NaN, or no zeros of two signs, among their inputs:
// the results that these change are written again.
#pragma once

#include "cpu/plan/fold.h"
#include "cpu/plan/output_box.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// Whether results can be mended: a maximum's or a minimum's values alone, in which a NaN shows (S3).
bool mends(const FoldJob& job);

class Mender {
 public:
  Mender(const FoldJob& job, index_t plane, const OutputBox& box);

  /// Looks for the NaN among the inputs. False if they are so many that all should be folded another way.
  bool find_nan();
  /// Every window that reads one of those becomes a NaN, the last one of the window (S3).
  void write_nan();
  /// Every result that is zero gets the sign of its window's first zero (S4). False if there are too many, or if too
  /// much had to be looked at; then some have it.
  bool sign_zeros();

 private:
  static constexpr int kMostPlaces = 64;
  using Coords = std::array<index_t, kMaxPooledAxes>;
  struct Place {
    Coords input;
    index_t lane;
  };

  template <class Bits, class Has, class Is>
  bool find(const Has& has, const Is& is);
  template <class Bits, class Changes>
  void write(const Changes& changes);
  template <class Bits>
  bool sign();
  template <class Bits>
  void sign_row();
  template <class Bits>
  bool sign_one(const Coords& o, index_t lane, Bits& y);
  bool add(const Coords& input, index_t lane);
  Range fed(int axis, index_t input) const;
  index_t row_size(const std::array<Range, kMaxPooledAxes>& part) const;
  template <class Body>
  void each_row(const std::array<Range, kMaxPooledAxes>& part, const Body& body) const;
  index_t offset(const Coords& c, Operand operand) const;

  const FoldJob& job_;
  const RowLayout& layout_;
  const OutputBox& box_;
  std::array<Range, kMaxPooledAxes> needs_;  // the inputs of the box
  Pitches plane_;
  index_t inputs_, outputs_;
  index_t written_ = 0;
  index_t looked_ = 0;
  InlineList<Place, kMostPlaces> places_;  // of NaN, or of zeros
};

}  // namespace oriel::cpu
