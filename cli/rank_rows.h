// An axis divided among ranks, for the drawings of `oriel explain --ranks`.
#pragma once

#include <string>
#include <vector>

#include "oriel/distributed.h"

namespace oriel::cli {

/// What one rank has along an axis.
struct RankRow {
  index_t rank = 0;
  Range owned;                     // inputs
  Range needed;                    // inputs that its outputs read
  Range made;                      // outputs
  std::vector<std::string> facts;  // `makes outputs 0 to 2`, `receives input 5 from rank 1`
};

/// The rows of all ranks: the last pooled axis cut at `bounds`, outputs where their windows' centres are. Throws Error
/// for bounds that do not go from 0 to the axis's inputs, ascending.
std::vector<RankRow> rank_rows(const Problem& problem, const std::vector<index_t>& bounds);

/// The rows as lines of text. Throws Error if there is too much to draw.
std::string ranks_text(const Problem& problem, const std::vector<RankRow>& rows, bool ascii);

/// Bounds as typed: `4` for as many even parts, or `0,5,6,6,10`. Throws Error.
std::vector<index_t> parse_ranks(const Problem& problem, const std::string& text);

}  // namespace oriel::cli
