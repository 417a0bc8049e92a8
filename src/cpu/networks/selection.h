// Networks that select ranks of many windows at once. A program compares and exchanges rows of keys: lane x of every
// row belongs to output x, and what neighbouring windows share is one row, read at several shifts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "oriel/types.h"

namespace oriel::cpu {

inline constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

/// A few exchanges that keep their values in registers. The first one is of wires 0 and 1: afterwards wire 0 has the
/// lesser and wire 1 the greater; then come those of the shape.
struct ExchangeShape {
  int wires;
  int exchanges;
  std::array<std::int8_t, 4> then;  // of the second and the third: the wires of the lesser and of the greater
};
inline constexpr std::array<ExchangeShape, 13> kExchangeShapes{{{2, 1, {}},
                                                                {3, 2, {0, 2}},
                                                                {3, 2, {1, 2}},
                                                                {4, 3, {0, 2, 0, 3}},
                                                                {4, 3, {0, 2, 1, 3}},
                                                                {4, 3, {0, 2, 2, 3}},
                                                                {4, 3, {1, 2, 0, 3}},
                                                                {4, 3, {1, 2, 1, 3}},
                                                                {4, 3, {1, 2, 2, 3}},
                                                                {4, 3, {2, 3, 0, 2}},
                                                                {4, 3, {2, 3, 0, 3}},
                                                                {4, 3, {2, 3, 1, 2}},
                                                                {4, 3, {2, 3, 1, 3}}}};

/// Wire w begins as in[w][x + shift[w]] and ends as out[w][x], for the lanes of a call and `extra` more. What nobody
/// reads goes to kNoRow.
struct Exchange {
  std::uint32_t shape = 0;
  std::uint32_t extra = 0;
  std::array<std::uint32_t, 4> in{}, shift{};
  std::array<std::uint32_t, 4> out{kNoRow, kNoRow, kNoRow, kNoRow};
};

struct SelectedRow {
  std::uint32_t row = 0;
  std::uint32_t shift = 0;
};

/// Rows are numbered: first the inputs, then those in scratch memory.
struct Selection {
  std::uint32_t inputs = 0;
  std::uint32_t scratch = 0;
  std::uint32_t reach = 0;  // lanes beyond those of a call that inputs must have
  std::vector<Exchange> steps;
  std::vector<SelectedRow> results;  // of each output row, one for each rank
  double cycles = 0;                 // that all output rows take for each vector, about
};

/// What windows look like. Input row (d * rows() + y) * phases + p holds the elements of phase p of row y of slice d.
struct SelectionWindow {
  struct Column {  // a tap along rows
    index_t phase = 0;
    index_t shift = 0;  // in lanes
  };

  index_t depth = 1;    // slices
  index_t height = 1;   // rows of a window
  index_t outputs = 1;  // rows of outputs, one row apart; at most `height`, 1 with `taps`
  index_t phases = 1;
  std::vector<Column> columns;
  std::vector<std::uint8_t> taps;  // depth x height x columns; empty: all
  std::vector<index_t> ranks;      // ascending

  index_t rows() const { return height + outputs - 1; }
  index_t count() const;  // taps of a window
};

Selection make_selection(const SelectionWindow& window);

}  // namespace oriel::cpu
