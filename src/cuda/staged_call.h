// What the host chooses for the kernels that fold in shared memory.
#pragma once

#include "cuda/rows.h"
#include "cuda/staged.cuh"

namespace oriel::cuda {

inline constexpr index_t kWantedShared = 48 * 1024;  // bytes of a block: four of them share a multiprocessor
inline constexpr index_t kWantedTiles = 264;         // two for each multiprocessor

/// The inputs that n outputs beside each other look at, at most.
index_t span_of(const Axis& axis, index_t n);

/// Where the parts of a tile lie in shared memory.
struct StagedLayout {
  index_t table[3], share_table[3], elements = 0, folds = 0, bytes = 0;

  /// Tables for tiles of `out` outputs; then come the other parts.
  void place_tables(const StagedGeometry& g, const index_t (&out)[3]);
  /// The next part.
  index_t place(index_t size) {
    const index_t at = bytes;
    bytes += ceil_div(size, kWidest) * kWidest;
    return at;
  }
  void set(StagedGeometry& g) const;
};

/// The geometry of a forward call, or of a gradient of sums, whose x and y are then dy and dx; all but the tile. False:
/// the call does not fit.
bool staged_call(const Forward& call, StagedGeometry& g);
bool staged_call(const Problem& problem, const ConstTensor& dy, const Tensor& dx, StagedGeometry& g);

}  // namespace oriel::cuda
