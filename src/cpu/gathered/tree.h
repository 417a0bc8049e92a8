// The tree of S8 over the cells of a window.
#pragma once

#include <bit>

#include "cpu/gathered/taps.h"

namespace oriel::cpu {

/// Folds rows of `rest` states, of the taps `taps` of `width` nominal ones, into the first row. Taps that do not exist
/// change nothing, so no state stands for them.
template <class S, class Join>
void fold_rows(S* rows, Range taps, index_t width, index_t rest, const Join& join) {
  std::array<index_t, 64> parts;  // the row of a part of 2^level taps that waits for what comes after it
  std::uint64_t waiting = 0;      // levels of such parts
  const auto join_rows = [&](index_t left, index_t right) {
    S* to = rows + left * rest;
    const S* from = rows + right * rest;
    for (index_t r = 0; r < rest; ++r) to[r] = join(to[r], from[r]);
  };
  for (index_t t = taps.begin; t < taps.end; ++t) {
    index_t row = t - taps.begin;
    int level = 0;
    for (; (t >> level & 1) != 0; ++level) {
      if ((waiting >> level & 1) == 0) continue;
      join_rows(parts[static_cast<std::size_t>(level)], row);
      row = parts[static_cast<std::size_t>(level)];
      waiting &= ~(std::uint64_t{1} << level);
    }
    parts[static_cast<std::size_t>(level)] = row;
    waiting |= std::uint64_t{1} << level;
  }
  // The powers of two that make up the width, largest first; in one that ends beyond the taps, small parts join first.
  index_t sum = -1;
  for (int power = 63 - std::countl_zero(static_cast<std::uint64_t>(width)); power >= 0; --power) {
    const std::uint64_t size = std::uint64_t{1} << power;
    if ((static_cast<std::uint64_t>(width) & size) == 0) continue;
    const index_t begin = static_cast<index_t>(static_cast<std::uint64_t>(width) & ~(2 * size - 1));
    if (taps.end <= begin) break;
    const bool whole = taps.end - begin >= static_cast<index_t>(size);
    index_t part = -1;
    for (int level = whole ? power : 0; level < power + (whole ? 1 : 0); ++level) {
      if ((waiting >> level & 1) == 0) continue;
      const index_t left = parts[static_cast<std::size_t>(level)];
      if (part >= 0) join_rows(left, part);
      part = left;
    }
    if (part < 0) continue;
    if (sum >= 0) join_rows(sum, part);
    if (sum < 0) sum = part;
  }
}

/// The fold of one state for each cell of a box that has some, which is overwritten.
template <class S, class Join>
S fold_box(S* states, const TapBox& box, const Join& join) {
  index_t rest = box.cells;
  for (int a = 0; a < box.axes; ++a) {
    const auto i = static_cast<std::size_t>(a);
    rest /= box.taps[i].size();
    fold_rows(states, box.taps[i], box.width[i], rest, join);
  }
  return states[0];
}

/// The sum of terms of type A, one for each valid tap; `room` has a place for each cell.
template <class A, class T, class Term>
A tree_sum(const ValidTaps<T>& taps, A* room, const Term& term) {
  if (taps.size() == 0) return A{0};
  std::fill_n(room, taps.box().cells, A(-0.0));  // changes no sum
  for (index_t i = 0; i < taps.size(); ++i) room[taps.cells()[i]] = term(i);
  return fold_box(room, taps.box(), [](A a, A b) { return a + b; });
}

}  // namespace oriel::cpu
