// Networks that select ranks of many windows at once. A program compares and exchanges rows of keys: lane x of every
// row belongs to output x, and what neighbouring windows share is one row, read at several shifts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "oriel/types.h"

namespace oriel::cpu {

inline constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

/// low[x] = min(a[x + a_shift], b[x + b_shift]), high[x] = their maximum, for the lanes of a call and `extra` more.
/// A row that nobody reads is kNoRow.
struct Exchange {
  std::uint32_t low = kNoRow, high = kNoRow;
  std::uint32_t a = 0, b = 0;
  std::uint32_t a_shift = 0, b_shift = 0;
  std::uint32_t extra = 0;
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

/// About how many cycles a vector takes for each row of outputs.
double cost(const Selection& selection, const SelectionWindow& window);

}  // namespace oriel::cpu
