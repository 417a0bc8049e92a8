// One thread's rows of order statistics of full windows, by networks.
#pragma once

#include <optional>
#include <vector>

#include "cpu/gathered/sorted_taps.h"
#include "cpu/order/rank_plan.h"
#include "cpu/rank/median_rows.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/strided_copy.h"
#include "cpu/tap_rows/phases.h"

namespace oriel::cpu {

class RowRanker {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives.
  RowRanker(const RankPlan& plan, Arena& arena);

  /// The bands of rows `bands` of slice `slice` of plane `plane`.
  void run(index_t plane, index_t slice, Range bands);

 private:
  // A row of inputs as keys, of one phase.
  struct KeyRow {
    std::byte* own = nullptr;         // memory
    const std::byte* keys = nullptr;  // own, or x itself where its elements are keys
    bool special = false;             // some are not valid, or NaN
  };

  void take_rows(Arena& arena);
  void run_chunk(index_t slice, Range bands, Range outputs);
  void keep_shared_rows(const RankNetwork& network);
  void load(const RankNetwork& network, index_t slice, index_t first, index_t known, Range outputs);
  void load_row(index_t place, index_t n, index_t wanted, KeyRow& row) const;
  void split_row(index_t place, const RankNetwork& network, index_t output, index_t positions, KeyRow* rows) const;
  bool is_special(const RankNetwork& network) const;
  void select(const RankNetwork& network, index_t slice, index_t first, Range outputs);
  void write(index_t place, index_t positions);
  void store(const std::byte* row, index_t place, index_t positions) const;
  const std::byte* row_of(index_t rank) const;
  const std::byte* between(const QuantilePlace& quantile, index_t n);
  KeyRow& key_row(index_t deep, index_t row, index_t phase) {
    return keys_[static_cast<std::size_t>((deep * row_count_ + row) * plan_.layout.along.axis.stride + phase)];
  }

  const RankPlan& plan_;
  RankPlane plane_;
  StridedCopy copy_;
  SplitPhases split_;
  index_t lanes_ = 0;      // of a chunk
  index_t row_count_ = 0;  // rows of inputs of the largest band
  const std::byte* x_end_ = nullptr;
  index_t row_bytes_ = 0;
  index_t phase_bytes_ = 0;
  bool splits_ = false;       // rows are split by phase
  bool direct_x_ = false;     // elements of x are keys
  bool in_line_ = false;      // a row of results is one run of memory, of a single quantile
  std::vector<KeyRow> keys_;  // by slice, row and phase
  std::vector<std::byte*> scratch_;
  std::vector<const std::byte*> rows_;  // of the network
  std::vector<std::byte*> found_;       // results of one row, one for each rank
  std::byte* line_;
  std::optional<MedianRows> medians_;  // if that is what is computed
};

}  // namespace oriel::cpu
