// Maxima and minima of floats that were folded as if there were no NaN, or no zeros of two signs, among their inputs:
// the results that these change are written again.
#pragma once

#include "cpu/plan/fold.h"
#include "cpu/plan/output_box.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// Whether results can be mended: a maximum's or a minimum's values alone, in which a NaN shows (S3).
bool mends(const FoldJob& job);

/// Mends the outputs of a box that have been folded as if they held no special value. False if they need to be folded
/// again.
bool mend(const FoldJob& job, index_t plane, const OutputBox& box);

/// A box of outputs of a plane, and the inputs that they read.
struct MendedBox {
  MendedBox(const FoldJob& fold, index_t number, const OutputBox& outputs);

  // How rows of inputs (kX) or of outputs (kY) lie.
  struct Rows {
    index_t n = 1, pitch = 1;  // positions
    index_t lanes = 1, lane_pitch = 1;
    bool dense = true;  // one run of memory
  };
  Rows rows(const AxisRanges& part, Operand operand) const;
  index_t offset(const RowCoords& c, Operand operand) const;
  /// The outputs of the box along an axis whose windows span an input.
  Range fed(int axis, index_t input) const;

  const FoldJob& job;
  const RowLayout& layout;
  const OutputBox& box;
  const Pitches plane;
  AxisRanges needs;  // the inputs
  index_t inputs, outputs;
};

/// Some inputs of a box whose values decide what their windows' results are.
class DecidingInputs {
 public:
  static constexpr index_t kMost = 64;

  explicit DecidingInputs(const MendedBox& box) : box_(box) {}

  /// Lists the inputs that `is` tells. False if they are so many that all should be folded another way. Rows that lie
  /// one after the other are looked through as one, and row by row only if `has` gives not 0: how many are in them, at
  /// least.
  template <class Bits, class Has, class Is>
  bool find(const Has& has, const Is& is);
  /// Writes each of them to the results of its windows that change(result) is true for: those that come first in scan
  /// order first, or, backward, last.
  template <class Bits, class Changes>
  void write(bool backward, const Changes& changes);

 private:
  struct Input {
    RowCoords place;
    index_t lane;
  };

  bool add(const RowCoords& place, index_t lane);

  const MendedBox& box_;
  index_t written_ = 0;
  InlineList<Input, kMost> inputs_;
};

class Mender {
 public:
  Mender(const FoldJob& job, index_t plane, const OutputBox& box) : box_(job, plane, box), inputs_(box_) {}
  Mender(const Mender&) = delete;
  Mender& operator=(const Mender&) = delete;

  /// Looks for the NaN among the inputs. False if they are so many that all should be folded another way.
  bool find_nan();
  /// Every window that reads one of those becomes a NaN, the last one of the window (S3).
  void write_nan();
  /// Every result that is zero gets the sign of its window's first zero (S4). False if there are too many, or if too
  /// much had to be looked at; then some have it.
  bool sign_zeros();

 private:
  const MendedBox box_;
  DecidingInputs inputs_;
};

}  // namespace oriel::cpu
