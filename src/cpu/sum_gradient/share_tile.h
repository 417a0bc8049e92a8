// A gradient whose inputs add the shares of the windows that read them, and its rows on their way in and out.
#pragma once

#include "cpu/plan/layout.h"
#include "cpu/plan/tiling.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/stream.h"
#include "cpu/sum_gradient/share_kernels.h"
#include "oriel/problem.h"
#include "reduction.h"

namespace oriel::cpu {

struct ShareJob {
  const Problem& problem;
  RowLayout layout;  // of the adjoint: x is dy, y is dx
  const void* dy;
  void* dx;
  RowReduction how;  // its rows are accumulators
  ShareKernels kernels;
  StoreBytes store;
  LiftRow lift;  // elements of dy to accumulators
  bool same_dy;  // elements of dy are accumulators, and those of dx
  bool same_dx;
  bool divides;
  double norm = 0;          // sums are scaled by x to this power less one; 0: they are not
  const void* x = nullptr;  // with the pitches of dx; then dy is shares
  LiftRow lift_x = nullptr;
  bool past_caches;
};

/// The tile that is being folded: how windows lie along its rows, and what they count.
class ShareTile {
 public:
  /// Takes memory of its own from `arena`, and that of a tile from `tile_arena`; neither must be reset while this
  /// lives.
  ShareTile(const ShareJob& job, const Tiling& tiling, Arena& arena, Arena& tile_arena);

  void set(index_t number);
  const RowTile& tile() const { return tile_; }
  const Spread& spread() const { return spread_; }
  index_t before_bytes() const { return before_bytes_; }  // that spreading a row looks at before it,
  index_t after_bytes() const { return after_bytes_; }    // and after it

  /// out = the shares of a row of dy, whose windows count `across` in the axes across it.
  void share(const std::byte* dy, double across, std::byte* out) const;

 private:
  void count_divisors();

  const ShareJob& job_;
  const Tiling& tiling_;
  Arena& tile_arena_;
  const index_t bytes_;  // of an accumulator
  const bool in_place_;  // rows of dy are rows of accumulators
  std::byte* raw_;
  RowTile tile_;
  index_t number_ = -1;
  Spread spread_;
  index_t before_bytes_ = 0, after_bytes_ = 0;
  double along_all_ = 1;        // the divisor along the row, where it is the same everywhere
  std::byte* along_ = nullptr;  // or all of them
};

/// Rows of sums that are stored together, as gradients.
class ShareResults {
 public:
  /// Takes its memory from `arena`, which must not be reset while this lives.
  ShareResults(const ShareJob& job, const Tiling& tiling, Arena& arena);

  index_t most_rows() const { return most_rows_; }
  /// Where row i of a tile goes.
  std::byte* row(const RowTile& tile, index_t i) const { return results_ + i * tile.out_elems() * bytes_; }
  /// Stores the first `rows` of them at `dx`.
  void store(const RowTile& tile, index_t rows, std::byte* dx) const;

 private:
  const ShareJob& job_;
  const index_t bytes_;  // of an accumulator
  const bool dense_;     // rows of dx are runs of memory
  index_t most_rows_ = 1;
  std::byte* results_ = nullptr;
  std::byte* lifted_ = nullptr;  // of x, beside the results
  std::byte* scaled_ = nullptr;  // results times slopes
};

}  // namespace oriel::cpu
