// What NaN and zeros of both signs make necessary, after a fold that treats them like other values has met some.
#pragma once

#include <optional>

#include "cpu/plan/fold.h"
#include "cpu/plan/tiling.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

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
