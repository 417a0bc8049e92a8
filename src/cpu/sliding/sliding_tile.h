// What all folds over long windows share: their two axes, and one thread's tile of rows of x and y.
#pragma once

#include "cpu/plan/counts.h"
#include "cpu/plan/fold.h"
#include "cpu/runtime/arena.h"
#include "cpu/runtime/parallel.h"
#include "cpu/simd/strided_copy.h"

namespace oriel::cpu {

/// The two axes of such a fold; either may be missing, and then is one window of one tap.
struct LongAxes {
  explicit LongAxes(const RowLayout& layout);

  Axis across;
  Pitches across_pitch{};
  Axis along;
  Pitches along_pitch{};
  int across_number = -1;  // among the pooled axes
};

class SlidingTile {
 public:
  /// Takes its memory from `arena`, which must not be reset while this lives.
  SlidingTile(const FoldJob& job, const Tiling& tiling, Arena& arena);

  /// Moves on to a tile of a plane. True if it is another tile than the one before.
  bool set(index_t plane, index_t number);

  const LongAxes& axes() const { return axes_; }
  bool has_row_axis() const { return job_.layout.row_axis >= 0; }
  /// Of the tile being folded.
  const RowTile& tile() const { return tile_; }
  index_t number() const { return number_; }
  index_t plane() const { return plane_; }
  const RowCounts& counts() const { return counts_; }
  /// What lowering a row of outputs needs.
  LowerParams params(index_t output) const { return counts_.params(job_.plain, axes_.across, output); }

  /// Where a row of inputs, or of outputs, begins.
  const std::byte* x(index_t input) const { return x_ + input * axes_.across_pitch[kX] * job_.plain.in_bytes; }
  std::byte* y(index_t output) const { return y_ + output * axes_.across_pitch[kY] * job_.plain.out_bytes; }

  /// Of results at every place along a row, those that there are windows for.
  void pick(const void* results, void* to) const;
  /// A row of outputs from one of accumulators.
  void lower(const void* row, index_t output) const;

 private:
  const FoldJob& job_;
  const Tiling& tiling_;
  const LongAxes axes_;
  const StridedCopy copy_ = strided_copy();
  RowRun* runs_;
  RowCounts counts_;
  RowTile tile_;
  index_t number_ = -1;
  index_t plane_ = 0;
  const std::byte* x_ = nullptr;
  std::byte* y_ = nullptr;
};

/// Folds all tasks of a tiling: Folder(job, tiling, arena) is one thread's part.
template <class Folder>
void fold_tasks(const FoldJob& job, const Tiling& tiling, int threads) {
  parallel_for(tiling.task_count(), tiling.task_bytes, threads, [&](index_t begin, index_t end) {
    Arena arena;
    Folder folder(job, tiling, arena);
    for (index_t number = begin; number < end; ++number) folder.fold(tiling.task(number));
  });
}

/// Calls body(first) for every class of a band of outputs across rows: first, first + classes, and so on, whose windows
/// share taps.
template <class Body>
void each_class(const Axis& across, Range rows, const Body& body) {
  for (index_t c = 0; c < across.classes() && rows.begin + c < rows.end; ++c) body(rows.begin + c);
}

}  // namespace oriel::cpu
