// Folds tiles one after another: each axis in its turn, then the results are written.
#pragma once

#include <optional>
#include <vector>

#include "cpu/moments/row_reader.h"
#include "cpu/moments/row_writer.h"
#include "cpu/moments/tiles.h"
#include "cpu/states/across.h"
#include "cpu/states/along.h"

namespace oriel::cpu {

class TileFolder {
 public:
  TileFolder(const Statistic& job, const Grid& grid, const MomentRules& rules, const Tiles& tiles);

  /// Folds tiles [begin, end).
  void run(index_t begin, index_t end);

 private:
  // An array of rows of states: along the axes across rows, inputs of those that are still to be folded, else outputs.
  struct Rows {
    std::byte* memory = nullptr;
    index_t count = 0;
  };

  void make_folders();
  void fold_first();
  void fold_first_across(bool continues);
  void fold_first_along();
  void fold_across(int axis);
  void fold_along();
  void write_rows();

  StateRow row_of(const Rows& rows, index_t number) const {
    return joiner_.row_in(rows.memory + number * joiner_.row_bytes(width_), width_);
  }
  Range span(int axis) const { return needs_[static_cast<std::size_t>(axis)]; }
  Range outputs(int axis) const { return tile_.outputs[static_cast<std::size_t>(axis)]; }
  const Axis& axis(int a) const { return grid_.pooled[static_cast<std::size_t>(a)].axis; }
  // How many rows there are along axes [begin, end) but the row's, by inputs or by outputs.
  index_t input_rows(int begin, int end) const;
  index_t output_rows(int begin, int end) const;
  // The outputs of row `number` of such along axes [0, end), and the taps that all their states have.
  std::array<index_t, kMaxPooledAxes> output_of(index_t number, int end) const;
  index_t taps_of(const std::array<index_t, kMaxPooledAxes>& output, int end) const;
  OperandSteps input_offset(index_t number, int begin) const;
  index_t states() const;  // of a row that is not folded along itself
  void write(const StateRow& row, index_t number);

  const Statistic& job_;
  const Grid& grid_;
  const MomentRules& rules_;
  const Tiles& tiles_;
  Arena arena_;
  Joiner joiner_;
  std::optional<Joiner> careful_;
  const index_t width_;  // states that a row has room for
  std::optional<RowReader> reader_;
  std::optional<RowWriter> writer_;
  std::optional<PartTree> tree_;
  std::vector<AcrossFolder> strips_;  // of the first axis: one for each strip of its rows, or one for all
  bool keeps_strips_ = false;
  std::array<index_t, kMaxPooledAxes> strip_{};  // states of a strip
  std::array<std::optional<AcrossFolder>, kMaxPooledAxes> across_;
  std::optional<AlongFolder> along_;
  Rows from_, to_;
  StateRow scratch_row_;
  Tile tile_;
  std::array<Range, kMaxPooledAxes> needs_;  // inputs, or the span of coordinates along the row
};

}  // namespace oriel::cpu
