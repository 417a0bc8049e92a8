// A part of a plane's outputs.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/plan/layout.h"
#include "cpu/runtime/inline_list.h"

namespace oriel::cpu {

/// Inputs or outputs along each pooled axis.
using AxisRanges = std::array<Range, kMaxPooledAxes>;

struct OutputBox {
  AxisRanges outputs;
  Range lanes;
};

/// Calls body(box) for boxes that together are the outputs `rows`, counted in row-major order over the pooled axes but
/// the row axis, and `along` that one. False as soon as body is.
template <class Body>
bool each_box(const RowLayout& layout, Range rows, Range along, Range lanes, const Body& body) {
  InlineList<int, kMaxPooledAxes> across;
  OutputBox box;
  box.lanes = lanes;
  for (int a = 0; a < layout.pooled(); ++a) {
    box.outputs[static_cast<std::size_t>(a)] = along;
    if (a != layout.row_axis) across.push_back(a);
  }
  if (across.empty()) return body(box);
  const auto outputs = [&](int i) {
    return layout.axis[static_cast<std::size_t>(across[static_cast<std::size_t>(i)])].axis.out;
  };
  for (index_t r = rows.begin; r < rows.end;) {
    int level = across.size() - 1;  // the axis along which the next box ends; those after it are whole
    index_t size = 1;               // rows of one output of it
    while (level > 0 && r % (size * outputs(level)) == 0 && rows.end - r >= size * outputs(level)) {
      size *= outputs(level--);
    }
    const index_t first = r / size % outputs(level), count = std::min(outputs(level) - first, (rows.end - r) / size);
    index_t rest = r / size / outputs(level);
    for (int i = across.size() - 1; i >= 0; --i) {
      Range& range = box.outputs[static_cast<std::size_t>(across[static_cast<std::size_t>(i)])];
      if (i >= level) {
        range = i > level ? Range{0, outputs(i)} : Range{first, first + count};
        continue;
      }
      range = {rest % outputs(i), rest % outputs(i) + 1};
      rest /= outputs(i);
    }
    if (!body(box)) return false;
    r += count * size;
  }
  return true;
}

/// Calls body(c) for all places of a part of `axes` axes, the last one first, until it gives false; `skipped` stays at
/// its first place.
template <class Body>
void each_place(int axes, const AxisRanges& part, const Body& body, int skipped = -1) {
  RowCoords c{};
  for (int a = 0; a < axes; ++a) {
    const Range& range = part[static_cast<std::size_t>(a)];
    if (range.empty()) return;
    c[static_cast<std::size_t>(a)] = range.begin;
  }
  for (int a = 0; a >= 0;) {
    if (!body(c)) return;
    for (a = axes - 1; a >= 0; --a) {
      if (a == skipped) continue;
      const Range& range = part[static_cast<std::size_t>(a)];
      index_t& at = c[static_cast<std::size_t>(a)];
      if (++at < range.end) break;
      at = range.begin;
    }
  }
}

/// Calls body(first place of a row) for all rows of a part, until it gives false.
template <class Body>
void each_row(const RowLayout& layout, const AxisRanges& part, const Body& body) {
  each_place(layout.pooled(), part, body, layout.row_axis);
}

}  // namespace oriel::cpu
