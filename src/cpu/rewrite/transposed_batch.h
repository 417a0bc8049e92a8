// Planes that lie one behind the other, turned so that they lie side by side: element by element, a lane for each.
#pragma once

#include "cpu/lifted/lifted_rows.h"
#include "cpu/runtime/arena.h"
#include "cpu/simd/transpose.h"
#include "oriel/window.h"

namespace oriel::cpu {

/// How many planes of `plane_bytes` (of all tensors together) to turn at a time: a multiple of 16 that stays within
/// `scratch` bytes, or 16 within `most`; 0 where there are fewer planes or they are larger.
index_t batch_lanes(index_t planes, index_t plane_bytes, index_t scratch, index_t most);

class TurnedBatch {
 public:
  /// Batches of `lanes` planes of at most `most_elems` elements of `bytes` bytes. Takes its memory from `arena`.
  TurnedBatch(index_t lanes, index_t most_elems, index_t bytes, Arena& arena)
      : transpose_(transpose_kernel()), lanes_(lanes), bytes_(bytes), some_(arena.take(lanes * most_elems * bytes)) {}

  /// Planes `part` of `from`, which have `elems` elements each, into `to`; zeros where there are fewer than lanes.
  void turn(const void* from, Range part, index_t elems, void* to) const;
  /// The other way round.
  void turn_back(const void* from, Range part, index_t elems, void* to) const;

 private:
  Transpose transpose_;
  index_t lanes_, bytes_;
  std::byte* some_;  // a batch of fewer planes
};

}  // namespace oriel::cpu
