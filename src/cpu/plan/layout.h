// How the loops of a pool lie over memory: which axis runs along a row, which dimensions stand beside each other in it,
// and what is left as planes.
#pragma once

#include <array>

#include "cpu/runtime/inline_list.h"
#include "oriel/problem.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// What the pitches of a dimension belong to. kFlat counts the values of indices (S10).
enum Operand { kX, kY, kIndex, kFlat };
using Pitches = std::array<index_t, 4>;

struct LoopDim {
  index_t n = 1;
  Pitches pitch{};
};

/// One pooled axis: its geometry, and the pitches of its inputs (kX, kFlat) and outputs (kY, kIndex).
struct PooledAxis {
  Axis axis;
  Pitches pitch{};
};

/// A row is `width` positions along the row axis times `lanes` independent elements at each.
struct RowLayout {
  InlineList<LoopDim, kMaxRank> planes;  // dimensions outside rows, outermost first
  LoopDim lanes;
  InlineList<PooledAxis, kMaxPooledAxes> axis;  // in the order that sums follow
  int row_axis = -1;                            // which of them runs along rows; -1: none, rows are lanes only

  int pooled() const { return axis.size(); }

  index_t plane_count() const;
  /// Whether x is one run of memory, and y too: plane by plane, in each the pooled axes in their order, lanes inside.
  bool is_stack() const;
  /// Whether every row of x (kX), or of y (kY), is one run of memory.
  bool has_dense_rows(Operand operand) const;
  /// The offset of plane number `plane` in an operand, in elements.
  index_t plane_offset(index_t plane, Operand operand) const;
  /// In all of them.
  Pitches plane_offsets(index_t plane) const;
};

/// Where a row is: a number along every pooled axis; that along the row axis is not asked for.
using RowCoords = std::array<index_t, kMaxPooledAxes>;
/// The rows of a plane's outputs in row-major order over the pooled axes but the row axis.
RowCoords row_coords(const RowLayout& layout, index_t number);
void to_next_row(const RowLayout& layout, RowCoords& c);
/// Where a row begins in an operand's plane, in elements.
index_t row_offset(const RowLayout& layout, const RowCoords& c, Operand operand);

/// What becomes of a pooled axis whose windows are single inputs: they need no fold.
enum class SingleTaps : std::uint8_t { pooled, planes };

/// Lays out a fold of the pooled axes `axis` of x into y. `index` may be null; `space` says what flat pitches count.
RowLayout make_layout(const Problem& problem, const std::array<Axis, kMaxPooledAxes>& axis, const ConstTensor& x,
                      const Tensor& y, const Tensor* index, IndexSpace space, SingleTaps single = SingleTaps::pooled);

/// The pooled axis whose positions are a row: the layout's, or the last of several; -1: none.
int axis_along(const RowLayout& layout);

}  // namespace oriel::cpu
