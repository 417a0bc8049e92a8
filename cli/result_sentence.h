// What `oriel explain` says of pools over valid taps (S13-S20).
#pragma once

#include <string>
#include <vector>

#include "cli/tap_marks.h"

namespace oriel::cli {

/// Whether these sentences apply: an op or an option of such pools, or a mask or weights.
bool has_sentences(const Problem& problem, const TapMarks& marks);
/// When a tap is valid, what the result is if too few are, and the strategy: a sentence each.
std::vector<std::string> valid_tap_rules(const Problem& problem, const TapMarks& marks);
/// `Output 1x2 is the median of the 7 valid of 9 taps: rank 3 (lower).`
std::string describe_result(const Problem& problem, const Extents& output, const TapMarks& marks);
/// The result of windows with too few valid taps, `nan (fill)` or `0 (nodata)`.
std::string fill_text(const Problem& problem);

}  // namespace oriel::cli
