// Rows of accumulators, and any number of them folded into one in the tree of S8: powers of two of them by halves, then
// those from the left.
#pragma once

#include <array>
#include <bit>

#include "cpu/runtime/arena.h"
#include "reduction.h"

namespace oriel::cpu {

/// The largest i with 2^i <= m.
constexpr int floor_log2(index_t m) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(m))) - 1; }

/// A row moved by `elems` elements, whose codes grow by `step`.
inline RowIn shifted(const RowReduction& how, const RowIn& row, index_t elems, index_t step) {
  const auto move = [elems](const void* p, index_t bytes) {
    return p == nullptr ? nullptr : static_cast<const std::byte*>(p) + elems * bytes;
  };
  return {move(row.value, how.value_bytes), move(row.extra, how.extra_bytes), step};
}

/// Room for a row of `elems` accumulators, and for what kernels may read beyond it.
inline RowOut take_row(const RowReduction& how, index_t elems, Arena& arena) {
  return {arena.take(elems * how.value_bytes + 128),
          how.extra_bytes == 0 ? nullptr : arena.take(elems * how.extra_bytes + 128)};
}

/// The same row from element `elems` on.
inline RowOut moved(const RowReduction& how, const RowOut& row, index_t elems) {
  return {static_cast<std::byte*>(row.value) + elems * how.value_bytes,
          row.extra == nullptr ? nullptr : static_cast<std::byte*>(row.extra) + elems * how.extra_bytes};
}

/// Makes a row one of absent taps.
inline void fill_identity(const RowReduction& how, const RowOut& row, index_t elems) {
  fill_copies(static_cast<std::byte*>(row.value), how.identity.data(), how.value_bytes, elems);
  if (row.extra == nullptr) return;
  fill_copies(static_cast<std::byte*>(row.extra), how.absent_extra.data(), how.extra_bytes, elems);
}

/// Adds the powers of two of a window, largest first.
inline void join_powers(const RowReduction& how, const RowIn* powers, int count, index_t n, RowOut out) {
  if (count <= 3)
    how.fold.fold_rows(powers, count, n, out);  // for so few the tree is the same
  else
    how.fold.fold_left(powers, count, n, out);
}

class PairwiseRows {
 public:
  explicit PairwiseRows(const RowReduction& how) : how_(how) {}

  /// Makes room for folds of `most` rows of `elems` elements, in memory of `arena`, which must not be reset while this
  /// lives.
  void make(index_t most, index_t elems, Arena& arena);

  /// out = the fold of rows that are at hand.
  void fold(const RowIn* rows, index_t count, index_t n, RowOut out);

  /// out = the fold of rows that leaf(first, count, room) folds, at most kMaxFold at a time. It says where their fold
  /// is: in `room`, or of one row wherever that is.
  template <class Leaf>
  void fold(index_t count, index_t n, RowOut out, const Leaf& leaf) {
    if (count <= kMaxFold) {
      leaf(index_t{0}, count, out);
      return;
    }
    fold_many(count, n, out, {&leaf, [](const void* self, index_t first, index_t some, RowOut room) {
                                return (*static_cast<const Leaf*>(self))(first, some, room);
                              }});
  }

 private:
  // A leaf of any type.
  struct AnyLeaf {
    const void* self;
    RowIn (*fold)(const void* self, index_t first, index_t count, RowOut room);
  };

  static constexpr int kMostPowers = 64;
  static constexpr index_t kTurns = 2;  // rooms for folds of 2^i rows, which are read together for one of twice as many

  void fold_many(index_t count, index_t n, RowOut out, const AnyLeaf& leaf);
  RowIn power(index_t first, index_t count, index_t n, const AnyLeaf& leaf);

  const RowReduction& how_;
  std::byte* value_ = nullptr;
  std::byte* extra_ = nullptr;
  index_t value_bytes_ = 0, extra_bytes_ = 0;  // of a room
  std::array<std::uint8_t, kMostPowers> turns_{};
};

}  // namespace oriel::cpu
