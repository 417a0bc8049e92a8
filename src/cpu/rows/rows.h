// The engine: folds rows axis by axis, whatever the reduction, layout and direction.
#pragma once

#include <optional>

#include "cpu/work/arena.h"
#include "cpu/plan/layout.h"
#include "cpu/plan/tiling.h"
#include "oriel/problem.h"
#include "oriel/reduce.h"
#include "oriel/tensor.h"

namespace oriel::cpu {

/// One fold of x into y over a layout. Where plain.scan finds values that `plain` does not treat exactly, the careful
/// recipe of `problem` replaces it; without a problem plain is used everywhere.
struct FoldJob {
  RowLayout layout;
  RowReduction plain;
  const Problem* problem = nullptr;
  const void* x = nullptr;  // the tensors that the layout was made for
  void* y = nullptr;
  void* index = nullptr;           // then `plain` must carry codes
  Dtype index_dtype = Dtype::i64;  // u8 and i32 in space window only
  IndexSpace space = IndexSpace::plane;
};

/// Runs it on at most `threads` threads (0: the default), by the strategy that suits it (strategies.h). The split into
/// tasks never changes a bit.
void run_fold(const FoldJob& job, int threads);

/// The way that takes everything: RowFolder over tiles and bands of rows.
void run_rows(const FoldJob& job, int threads);

class RowFolder;
enum class Nan : bool;

/// Folds rows of outputs again with the careful recipe, where a NaN or a negative zero was found.
class CarefulRows {
 public:
  explicit CarefulRows(const FoldJob& job) : job_(job) {}
  CarefulRows(const CarefulRows&) = delete;
  CarefulRows& operator=(const CarefulRows&) = delete;

  /// Rows of a plane, in row-major order over the pooled axes but the row axis.
  void fold(index_t plane, Range rows);
  /// Rows of one tile; always of the same tiling, which outlives this.
  void fold(index_t plane, index_t tile, const Tiling& tiling, Range rows);
  /// Rows of a pool that mends (mend.h) that have been folded as if they held no special value. False if they need to
  /// be folded again.
  bool mend(index_t plane, index_t tile, const Tiling& tiling, Range rows) const;

 private:
  struct State;
  RowFolder& folder(Nan nan, const Tiling& tiling);

  const FoldJob& job_;
  std::optional<Tiling> tiling_;
  std::optional<Arena> arena_;
  State* of_all_ = nullptr;
  State* of_numbers_ = nullptr;
};

}  // namespace oriel::cpu
