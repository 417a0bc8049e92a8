// What all threads of a call share that computes order statistics by networks.
#pragma once

#include <memory>

#include "cpu/order/rank_kernels.h"
#include "cpu/order/windows.h"

namespace oriel::cpu {

/// The network of windows with so many rows of outputs at a time.
struct RankNetwork {
  std::shared_ptr<const Selection> selection;
  index_t outputs = 1;
};

/// A network is made once for all calls with the same windows.
std::shared_ptr<const Selection> selection_of(const SelectionWindow& window);

/// Whether NaN is not valid, by its policy or as nodata.
bool leaves_out_nan(const Problem& problem);

/// Nothing is valid that these keys have: NaN, nodata.
Unwanted unwanted_of(const Problem& problem);

/// Taps of a window that the footprint has.
index_t count_of_taps(const Problem& problem);

struct RankPlan {
  RankPlan(const Statistic& statistic, const RankLayout& rows);

  SelectionWindow window(index_t outputs) const;
  RankNetwork best_network(index_t most) const;

  const Statistic& job;
  const RankLayout& layout;
  Range along, down, deep;  // outputs whose windows are full
  index_t taps = 0;         // of a window
  std::vector<index_t> ranks;
  RankKernels kernels;
  index_t bytes;      // of an element
  index_t lane_step;  // lanes between neighbouring positions of a phase
  Unwanted unwanted;
  RankNetwork network, rest;  // of most rows, and of the last ones
};

}  // namespace oriel::cpu
