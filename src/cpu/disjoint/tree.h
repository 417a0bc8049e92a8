// The tree of S8 over accumulators that stand beside each other, for windows much longer than a vector.
#pragma once

#include "cpu/lifted/lifted_rows.h"
#include "cpu/plan/fold.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/transpose.h"

namespace oriel::cpu {

class RowTree {
 public:
  static constexpr index_t kUnit = 16;  // neighbours that are folded at a time, beside those of other units

  /// For windows of at most `most` taps. Takes its memory from `arena`, which must not be reset while it lives.
  RowTree(const RowReduction& how, index_t most, Arena& arena);

  /// out[u] = the fold of row[u * kUnit, (u + 1) * kUnit) for u < units.
  void fold_units(const std::byte* row, index_t units, std::byte* out);
  /// *out = the fold of `units` units that fold_units has made, and of `rest` < kUnit values that come after them.
  void join(const std::byte* units, index_t count, const std::byte* rest, index_t rest_count, std::byte* out);
  /// *out = the fold of row[0, count).
  void fold(const std::byte* row, index_t count, std::byte* out);

 private:
  void add_parts(const std::byte* row, index_t count, std::byte* levels);
  void add_power(const std::byte* row, index_t count);
  void join_parts(std::byte* out);

  const RowReduction& how_;
  const Transpose transpose_;
  const index_t bytes_;
  std::byte* turned_;  // units as columns
  std::byte* halves_;  // the folds of half a unit
  std::byte* levels_;  // units of units, and so on
  std::byte* few_;     // what is left of a power of two
  std::byte* parts_;   // the powers of two of a window, largest first
  int used_ = 0;
};

}  // namespace oriel::cpu
