// Folds exponentials of taps about the largest one, which differs from window to window, so that windows share nothing.
#pragma once

#include <optional>
#include <vector>

#include "cpu/moments/row_reader.h"
#include "cpu/moments/row_writer.h"
#include "cpu/moments/tiles.h"
#include "cpu/soft/exponentials.h"

namespace oriel::cpu {

class SoftFolder {
 public:
  SoftFolder(const Statistic& job, const Grid& grid, const MomentRules& rules, const Tiles& tiles);

  /// Folds tiles [begin, end).
  void run(index_t begin, index_t end);

 private:
  using Places = std::array<index_t, kMaxPooledAxes>;

  void lift_rows();
  void fold_row(const Places& output);
  template <class Body>
  void each_tap(const Places& output, int axis, Places& taps, const Body& body) const;
  PartTree::Part fold_axis(const Places& output, int axis, Places& taps);
  TapRow tap_row(const Places& output, const Places& taps) const;
  void lower(const StateRow& sums);

  StateRow row_of(index_t number) const {
    return elements_.row_in(memory_ + number * elements_.row_bytes(width_), width_);
  }
  const Axis& axis(int a) const { return grid_.pooled[static_cast<std::size_t>(a)].axis; }
  index_t stride() const { return grid_.row < 0 ? 1 : axis(grid_.row).stride; }

  const Statistic& job_;
  const Grid& grid_;
  const Tiles& tiles_;
  const ExponentialTable& kernels_;
  const bool weighted_;
  const double sharpness_;
  Arena arena_;
  Joiner elements_, sums_;
  const index_t width_;     // states that a row has room for
  std::byte* memory_;       // rows of elements, each split into those of every stride-th position
  StateRow scratch_;        // one that is not split
  index_t phase_room_ = 0;  // states from one of these parts to the next
  index_t results_ = 0;     // states of a row of results
  std::optional<RowReader> reader_;
  std::optional<RowWriter> writer_;
  std::vector<PartTree> trees_;  // by axis
  double* largest_;
  std::uint32_t* count_;
  StateRow folded_;
  Tile tile_;
  std::array<Range, kMaxPooledAxes> needs_;
};

}  // namespace oriel::cpu
