// Windows along a row: its positions are folded, each of `lanes` states beside each other.
#pragma once

#include <memory>
#include <optional>

#include "cpu/states/joiner.h"
#include "oriel/window.h"

namespace oriel::cpu {

class AlongFolder {
 public:
  /// `careful` joins states of `counted` where `joiner` joins `moments`: at borders, where states differ in their
  /// number of taps. For at most `outputs` windows at a time.
  AlongFolder(const Axis& axis, index_t lanes, index_t outputs, Joiner& joiner, Joiner* careful, Arena& arena);

  /// The coordinates that these windows span, whether there is an input or not.
  static Range span(const Axis& axis, Range outputs) {
    return {axis.start(outputs.begin), axis.at(outputs.end - 1, axis.width(outputs.end - 1) - 1) + 1};
  }

  /// out = the windows `outputs` of a row that begins at the first coordinate of their span, of states that have
  /// `before` taps where there is an input, and else are clear. Both rows have room for kRowSlack states more.
  void fold(const StateRow& row, index_t before, Range outputs, const StateRow& out);

 private:
  void fold_part(Joiner& joiner, const StateRow& row, index_t before, index_t outputs, const StateRow& out);
  void fold_border(const StateRow& row, index_t before, index_t origin, Range outputs, const StateRow& out);
  void fold_adaptive(const StateRow& row, index_t before, Range outputs, const StateRow& out);
  void halve(Joiner& joiner, const StateRow& row, index_t before, index_t width, const StateRow& out);
  void double_taps(Joiner& joiner, const StateRow& row, index_t before, index_t positions, const StateRow& out);
  void fold_phases(Joiner& joiner, const StateRow& row, index_t before, index_t outputs, const StateRow& out);
  void pick(Joiner& joiner, const StateRow& row, index_t step, index_t n, const StateRow& out) const;

  const Axis axis_;
  const index_t lanes_;
  Joiner &joiner_, *careful_;
  bool doubles_ = false, halves_ = false;
  index_t segment_ = 0;             // states of a row that are doubled together
  std::array<StateRow, 64> level_;  // of 2, 4, 8 ... taps
  StateRow every_;                  // windows at every position, of which some are picked
  double* counts_ = nullptr;        // of taps, at borders
  double* unread_ = nullptr;        // those of the windows, for which nobody asks
  std::array<StateRow, 3> half_;    // of a window
  StateRow* phase_ = nullptr;       // every stride-th position
  std::optional<PartTree> tree_, careful_tree_;
};

/// What kernels may read and write beyond a row.
inline constexpr index_t kRowSlack = 2 * kRowStep;

}  // namespace oriel::cpu
