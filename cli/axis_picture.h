// What `oriel explain` draws of one pooled axis: chosen outputs as rows, places as columns.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "oriel/problem.h"

namespace oriel::cli {

/// What a place is to an output.
enum class Mark : std::uint8_t {
  none,     // outside its window
  tap,      // an input that it reads
  padding,  // a tap in the padding
  beyond,   // a tap beyond the padding, where ceil mode lets a window reach
  skipped,  // between two taps of a dilated window
  absent,   // a place of the window where its footprint has no tap
  invalid   // a tap whose input is not valid
};
Mark mark_at(const Axis& axis, index_t output, index_t place);
/// The mark of a place of a plane from those of its two axes.
Mark both(Mark a, Mark b);

/// Stands where places or outputs are left out.
inline constexpr index_t kLeftOut = std::numeric_limits<index_t>::min();

/// One window.
struct Row {
  index_t output = kLeftOut;
  index_t nominal = 0;   // taps of the window
  index_t existing = 0;  // those that are inputs
  index_t padding = 0;   // those in the padding
  index_t beyond = 0;    // those beyond it
  index_t divisor = 0;   // this axis's factor of an average's divisor
};

/// One pooled axis.
struct AxisPicture {
  int number = 0;  // of the axis in the tensor
  Axis axis;
  std::vector<index_t> places;  // columns, ascending, kLeftOut between
  std::vector<Row> rows;        // ascending, a left-out row between
};

/// The pooled axis `i` of `problem` in at most about `columns` places, unless `full`.
AxisPicture picture_axis(const Problem& problem, int i, int columns, bool full);
/// The pooled axis `i` around the window of one output: what a plane is drawn from.
AxisPicture picture_window(const Problem& problem, int i, index_t output);
/// `It reads 2 x 3 = 6 inputs of 9 taps and divides by 6.`
std::string describe_output(const Problem& problem, const Extents& output);
/// One window of an axis.
Row describe_window(const Problem& problem, const Axis& axis, index_t output);
/// True when some output reads input `i`.
bool is_read(const Axis& axis, index_t i);

/// `out = floor((7 + 1 + 1 - 3) / 2) + 1 = 4` and what its words are; a line each.
std::vector<std::string> size_lines(const Problem& problem, int i);
/// What is worth knowing about the axis: partial windows, dropped inputs, what ceil would change; a sentence each.
std::vector<std::string> facts(const Problem& problem, int i);
/// What an average divides by; empty for other ops.
std::string divisor_rule(const Problem& problem);
/// `axis 2: 112 inputs -> 56 outputs`.
std::string axis_title(const AxisPicture& picture);
/// `max pool over axes 2, 3: f32 8x64x112x112 -> 8x64x56x56`.
std::string headline(const Problem& problem);
/// The earlier pooled axis with the same windows as the pooled axis `i`, or -1.
int same_as(const Problem& problem, int i);
/// The output that shows most, per axis: a window that ceil or padding makes partial, else the first.
index_t telling_output(const Axis& axis);
Extents telling_outputs(const Problem& problem);

}  // namespace oriel::cli
