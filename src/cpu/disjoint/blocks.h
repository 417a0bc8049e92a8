// A way for windows that do not overlap, or hardly, along contiguous rows: adaptive, global and patches. Rows of many
// planes are folded together and turned, so that the same tap of all of them is a row.
#pragma once

#include "cpu/disjoint/tree.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/plan/fold.h"
#include "cpu/runtime/arena.h"

namespace oriel::cpu {

bool can_blocks(const FoldJob& job);
bool blocks_pay(const FoldJob& job);
void run_blocks(const FoldJob& job, int threads);

/// How the planes and outputs are cut into blocks.
struct Blocks {
  Blocks(const FoldJob& job, int threads);

  index_t joined = 1;  // planes that lie at one distance from each other, in x and in y
  index_t planes = 1;  // of a block, at most
  index_t blocks = 1;
  index_t rows = 1;          // rows of outputs in a plane
  index_t tile_outputs = 1;  // outputs along a row that are folded together
  index_t tiles = 1;
  index_t bytes = 0;  // that one part of the work reads, about

  Range planes_of(index_t block) const;
};

class BlockFolder {
 public:
  /// Takes its memory from `arena`, which must not be reset while it lives.
  BlockFolder(const FoldJob& job, const Blocks& blocks, Arena& arena);

  /// Folds outputs of the row `row` of some planes. False when a value was found that needs the careful recipe, or
  /// mend.
  bool fold(Range planes, index_t row, index_t tile);
  /// Of a pool with so many taps that its results are mended, after that: a plane's. False when it needs the careful
  /// recipe.
  bool mend(index_t plane, index_t row, index_t tile) const;

 private:
  static constexpr std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  static constexpr index_t kTurns = 2;  // buffers of one size, read together for one of the next

  void fold_down(const std::byte* x);
  void fold_leaf(const std::byte* x, index_t input, index_t count, std::byte* out);
  void fold_padded(const std::byte* x, index_t start, index_t count, std::byte* out);
  void fold_tiles(std::byte* y);
  void fold_each(std::byte* y);
  void fold_long_windows(std::byte* y);
  void lower(const std::byte* acc, index_t n, index_t output, std::byte* y, index_t pitch);
  const std::byte* turn(index_t rows, index_t columns);

  Range outputs_of(index_t tile) const;
  std::byte* make_buffer(index_t elems, index_t bytes) { return arena_.take(elems * bytes + 128); }
  template <class Leaf>
  void fold_many(index_t count, index_t n, std::byte* out, const Leaf& leaf);
  template <class Leaf>
  RowIn power(index_t first, index_t count, index_t n, const Leaf& leaf);
  void fold_taps(index_t count, index_t n, std::byte* out);

  const FoldJob& job_;
  const RowLayout& layout_;
  const RowReduction& how_;
  const ElementKernels kernels_;
  const Blocks& blocks_;
  const bool mends_;  // special values do not keep a fold from its end
  Arena& arena_;
  Axis across_, along_;  // a single tap where there is no axis across rows
  Pitches across_pitch_{}, along_pitch_{};
  index_t x_plane_ = 0, y_plane_ = 0;  // from one plane of a block to the next, in elements
  index_t lanes_ = 1;
  RowTree tree_;

  std::byte* rows_ = nullptr;    // a row of accumulators for each plane
  std::byte* turned_ = nullptr;  // the same by place along the row
  std::byte* result_ = nullptr;
  std::byte* identity_ = nullptr;  // elements that change nothing
  std::byte* absent_ = nullptr;    // accumulators that change nothing
  std::byte* powers_ = nullptr;    // folds of 2^i rows: kTurns of each
  index_t power_bytes_ = 0;
  std::array<std::uint8_t, 64> turns_{};
  RowIn* taps_ = nullptr;

  Axis tile_;  // what is being folded
  index_t row_ = 0;
  index_t planes_ = 0;
  bool special_ = false;
};

}  // namespace oriel::cpu
