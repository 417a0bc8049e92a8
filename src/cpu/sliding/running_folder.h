// One thread's part of sums of integers: columns of sums that gain the rows that enter a window and lose those that
// leave, and windows along them.
#pragma once

#include "cpu/sliding/running_kernels.h"
#include "cpu/sliding/sliding_tile.h"

namespace oriel::cpu {

RunningKernels running_kernels(const FoldJob& job);

class RunningFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while this lives.
  RunningFolder(const FoldJob& job, const Tiling& tiling, Arena& arena);

  void fold(const RowTask& task);

 private:
  void fold_class(Range rows, index_t first);
  index_t gather(index_t output, Range taps, const void** rows) const;
  void finish(index_t output);

  SlidingTile tile_;
  const RunningKernels kernels_;
  const index_t move_;          // elements from one tap along the row to the next
  const index_t column_bytes_;  // accumulators of all places
  const void** entering_;
  const void** leaving_;
  std::byte* columns_;
  std::byte* sums_ = nullptr;
  std::byte* result_ = nullptr;
  std::byte* picked_ = nullptr;
};

}  // namespace oriel::cpu
