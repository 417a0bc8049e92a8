// The two drawings of `oriel explain`.
#pragma once

#include <string>
#include <vector>

#include "cli/rank_rows.h"
#include "cli/tap_marks.h"
#include "oriel/problem.h"

namespace oriel::cli {

/// How the terminal's drawing looks.
struct TextStyle {
  int width = 100;     // characters of a line
  bool ascii = false;  // no characters beyond ASCII
  bool colour = false;
  bool full = false;  // nothing left out
};

/// The drawing for a terminal. `output` picks the plane that is drawn where two or more axes are pooled.
std::string explain_text(const Problem& problem, const Extents& output, const TextStyle& style,
                         const Elements& elements = {});

/// The same as a picture, with the axis that is divided among `ranks`.
std::string explain_svg(const Problem& problem, const Extents& output, bool full,
                        const std::vector<RankRow>& ranks = {}, const Elements& elements = {});

/// Every window along every axis, as JSON; of a pool over valid taps also the taps of `output` (empty: the telling
/// one).
std::string explain_json(const Problem& problem, const Extents& output = {}, const Elements& elements = {});

/// How the problem is computed, as text and as JSON.
std::string strategy_text(const Problem& problem);
std::string strategy_json(const Problem& problem);

}  // namespace oriel::cli
