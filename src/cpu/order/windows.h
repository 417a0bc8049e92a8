// How the windows of an order statistic lie over memory: rows along one axis, lanes beside each other in a row.
#pragma once

#include <optional>

#include "cpu/networks/selection.h"
#include "cpu/plan/statistic.h"

namespace oriel::cpu {

/// A dimension that is gone through, with its pitches in x and y.
struct RankLoop {
  index_t n = 1;
  index_t x = 0;
  index_t y = 0;
  int axis = -1;  // of the tensor; -1: there is none
};

/// A pooled axis, with the pitches of its inputs and outputs.
struct RankAxis {
  Axis axis = Axis::uniform(1, 1, 1, 0, 0);
  index_t x = 0;
  index_t y = 0;
  int number = -1;  // in the problem; -1: there is none
};

/// The order of axes does not matter to what is sorted, so rows run along the pooled axis that is densest in memory.
struct RankLayout {
  RankAxis along, down, deep;  // windows are boxes of these three
  RankLoop lanes;              // elements beside each other at each position of a row
  std::array<RankLoop, kMaxRank> planes;
  int plane_dims = 0;
  index_t plane_count = 1;
};

/// Nothing if the windows are not uniform or lie in more than three axes.
std::optional<RankLayout> rank_layout(const Statistic& job);

/// The places among n sorted taps that a pool's quantiles lie between, each once, ascending.
std::vector<index_t> ranks_of(const Pool& pool, index_t n);

}  // namespace oriel::cpu
