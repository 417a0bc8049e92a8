// One thread's medians of 3x3 or 5x5 taps, by the kernels of median_kernels.h.
#pragma once

#include <vector>

#include "cpu/rank/median_kernels.h"
#include "cpu/rank/rank_plane.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/line_writer.h"

namespace oriel::cpu {

class MedianRows {
 public:
  /// 3 or 5 if windows are one row apart and have medians of 3x3 or 5x5 taps, else 0.
  static index_t size_of(const RankPlan& plan);

  /// `row_bytes` are those of the longest row of inputs; `in_line`: a row of results is one run of memory. Takes its
  /// memory from `arena`, which must not be reset while it lives.
  MedianRows(const RankPlan& plan, const RankPlane& plane, index_t row_bytes, bool in_line, Arena& arena);

  /// Whether so many outputs of a row can be computed from x as it lies.
  bool is_direct(index_t outputs) const;
  void run(index_t slice, Range rows, Range outputs);

  /// Medians of rows of keys, as keys.
  void select(const void* const* rows, index_t outputs, index_t lanes);
  const std::byte* selected(index_t row) const { return found_[static_cast<std::size_t>(row)]; }

 private:
  void run_strip(index_t slice, Range rows, Range outputs);

  const RankPlan& plan_;
  const RankPlane& plane_;
  LineWriter writer_;
  MedianKernel direct_ = nullptr, keys_ = nullptr;
  index_t pitch_ = 0;
  std::byte* scratch_ = nullptr;
  std::vector<std::byte*> found_;  // rows of results
  bool past_caches_ = false;
};

}  // namespace oriel::cpu
