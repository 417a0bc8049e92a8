// S1, S2 and S5 by enumeration: for each output of an axis the inputs that it reads.
#pragma once

#include "reference/reference.h"

namespace oriel::reference {

/// One pooled axis, written out in full.
struct Line {
  index_t in = 0;
  std::vector<std::vector<index_t>> reads;    // [output][tap]: an input, or -1 where none is
  std::vector<index_t> counted;               // [output]: taps that count when padding does (S5)
  std::vector<std::vector<index_t>> feeders;  // [input][tap of the adjoint]: an output, ascending, or -1
  index_t largest_window = 0;                 // nominal taps of the window that has most of them

  index_t out() const { return static_cast<index_t>(reads.size()); }
};

/// The lines of a pooling's axes.
std::vector<Line> make_lines(const Pooling& pooling);

/// What one output reads, or what feeds one input.
struct Window {
  std::vector<std::size_t> sizes;  // nominal taps along each pooled axis
  std::vector<index_t> elements;   // per nominal tap, row-major: a flat index, or -1 where none is
};
Window window_of(const Pooling& pooling, const std::vector<Line>& lines, const std::vector<index_t>& output);
Window feeders_of(const Pooling& pooling, const std::vector<Line>& lines, const std::vector<index_t>& input);

/// The divisor of an output's average (S5); `left_out`: NaN taps that NaN policy omit takes away.
index_t divisor_of(const Pooling& pooling, const std::vector<Line>& lines, const std::vector<index_t>& output,
                   index_t left_out);

/// Walks coordinates in row-major order: coordinates(shape, i) is the i-th.
std::vector<index_t> coordinates(const std::vector<index_t>& shape, index_t flat);
index_t flatten(const std::vector<index_t>& shape, const std::vector<index_t>& at);
index_t count_of(const std::vector<index_t>& shape);

}  // namespace oriel::reference
