// One thread's part of a gradient whose inputs add the shares of the windows that read them.
#pragma once

#include "cpu/plan/layout.h"
#include "cpu/plan/tiling.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/stream.h"
#include "cpu/sum_gradient/share_kernels.h"
#include "oriel/problem.h"
#include "oriel/reduce.h"

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

class ShareFolder {
 public:
  /// Takes its memory from the arenas, which must not be reset while it lives.
  ShareFolder(const ShareJob& job, const Tiling& tiling, Arena& arena, Arena& tile_arena);
  void fold(index_t plane, index_t tile, Range rows);

 private:
  static constexpr index_t kFewBytes = 64;
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

  struct Key {
    index_t task = -1;
    index_t row = 0;
  };
  // An axis across rows.
  struct Stage {
    int number = 0;
    index_t input_step = 1;
    index_t ring = 1;  // rows at hand at a time, a power of two
    index_t in = 0;
    index_t pitch = 0;                 // of its outputs, in bytes
    index_t key_step = 1;              // in the number of a row
    const SharedTaps* taps = nullptr;  // of every input of the pool
    const double* divisors = nullptr;  // of every output
  };
  // Rows after some stages. Each has room for the places that the row axis looks at beyond its ends.
  struct Rows {
    std::byte* first = nullptr;
    Key* keys = nullptr;
  };

  void add_stage(int a);
  void make_rows(const Tiling& tiling);
  void set_tile(index_t number);
  void count_divisors();
  const std::byte* row(int level, RowCoords& c);
  const std::byte* planar_row(index_t i);
  const std::byte* share(const std::byte* x, double across, std::byte* out);
  std::byte* slot(int level, const RowCoords& c, Key*& key) const;
  void end_row(std::byte* row) const {
    std::byte* end = row + tile_.in_elems() * bytes_;
    if (after_bytes_ > kFewBytes) std::memcpy(end, absent_, at(after_bytes_));
    if (after_bytes_ != 0) std::memcpy(end, absent_, at(kFewBytes));  // there is room, and this is no call
  }
  void flush(std::byte* y, index_t rows) const;

  const ShareJob& job_;
  const RowLayout& layout_;
  const Tiling& tiling_;
  Arena& arena_;
  Arena& tile_arena_;    // of what belongs to one tile
  const index_t bytes_;  // of an accumulator
  InlineList<Stage, kMaxPooledAxes> stage_;
  std::array<Rows, kMaxPooledAxes + 1> rows_;
  index_t slot_bytes_ = 0;
  index_t before_ = 0;           // elements that the tile looks at before a row
  index_t before_bytes_ = 0;     // room before a row
  index_t after_bytes_ = 0;      // what end_row writes
  std::byte* absent_ = nullptr;  // absent shares, with room on both sides
  std::byte* raw_ = nullptr;
  std::byte* scratch_ = nullptr;
  std::byte* results_ = nullptr;
  std::byte* lifted_ = nullptr;  // of x, beside the results
  std::byte* scaled_ = nullptr;  // results times slopes
  index_t most_results_ = 1;     // rows
  bool joined_rows_ = false;     // rows of dx follow each other in memory
  bool dense_x_ = false, dense_y_ = false;

  RowTile tile_;
  index_t tile_number_ = -1;
  index_t task_ = 0;
  Spread spread_;
  double along_all_ = 1;        // the divisor along the row, where it is the same everywhere
  std::byte* along_ = nullptr;  // or all of them
  const std::byte* x_ = nullptr;
};

}  // namespace oriel::cpu
