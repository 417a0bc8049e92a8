// What gradients from stored codes go by: the geometry that lists and checks depend on.
#pragma once

#include "cpu/plan/layout.h"

namespace oriel::cpu {

inline constexpr Operand kDx = kX, kDy = kY, kCode = kIndex;  // whose pitches a layout of such a gradient has

/// How rows of inputs are gathered: along dense rows; the same of windows that is_woven; whole dense planes, several of
/// them where one fills no vector, as one row; channels side by side.
enum class GatherWay : std::uint8_t { along, woven, whole, lanes };

struct CodeShape {
  InlineList<PooledAxis, kMaxPooledAxes> axis;  // no pitch is negative
  LoopDim lanes;                                // dense
  GatherWay way = GatherWay::along;
  index_t planes = 1;   // in a row
  index_t vector = 16;  // lanes of one

  /// Pooled axes outside rows.
  int outer() const { return way == GatherWay::whole ? 0 : axis.size() - 1; }
  /// What a tap of every axis adds to a code.
  std::array<index_t, kMaxPooledAxes> steps() const;
  /// Elements of a row of outputs.
  index_t row_outputs() const;
  /// Calls each(coordinates) for every row of inputs, or of outputs.
  template <class Each>
  void each_row(bool of_inputs, const Each& each) const;

  friend bool operator==(const CodeShape& a, const CodeShape& b);
};

template <class Each>
void CodeShape::each_row(bool of_inputs, const Each& each) const {
  std::array<index_t, kMaxPooledAxes> c{};
  const auto extent = [&](int a) {
    const Axis& of = axis[static_cast<std::size_t>(a)].axis;
    return of_inputs ? of.in : of.out;
  };
  for (int a = 0; a < outer(); ++a) {
    if (extent(a) == 0) return;
  }
  for (int a = 0; a >= 0;) {
    each(c);
    for (a = outer() - 1; a >= 0 && ++c[static_cast<std::size_t>(a)] == extent(a); --a) {
      c[static_cast<std::size_t>(a)] = 0;
    }
  }
}

}  // namespace oriel::cpu
