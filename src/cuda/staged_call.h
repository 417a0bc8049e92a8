// What the host chooses for the kernels that fold in shared memory.
#pragma once

#include "cuda/rows.h"
#include "cuda/staged.cuh"

namespace oriel::cuda {

inline constexpr index_t kWantedShared = 48 * 1024;  // bytes of a block: four of them share a multiprocessor
inline constexpr index_t kWantedTiles = 264;         // two for each multiprocessor

/// The inputs that n outputs beside each other look at, at most.
index_t span_of(const Axis& axis, index_t n);

/// The sizes of a tile, and where its parts lie in shared memory.
struct StagedLayout {
  index_t out[3], in[3], units = 1;
  index_t table[3], share_table[3], elements = 0, folds = 0, sums = 0, bytes = 0;

  /// Begins with the tables of `out`, those of inputs with so many bytes for each; sets `in`.
  void place_tables(const StagedGeometry& g, index_t input_bytes);
  /// The next part.
  index_t place(index_t size) {
    const index_t at = bytes;
    bytes += ceil_div(size, kWidest) * kWidest;
    return at;
  }
  /// Tiles in all.
  index_t count(const StagedGeometry& g) const;
  /// Tells the kernel.
  void set(StagedGeometry& g) const;
};

/// Chooses the tile, whose parts `lay_out` places, given two sizes of elements. False: one output's window is too
/// large.
bool choose_tile(StagedGeometry& g, StagedLayout& tile,
                 void (*lay_out)(StagedLayout&, const StagedGeometry&, index_t, index_t), index_t first,
                 index_t second);

/// The geometry of a forward call, or of a gradient of sums, whose x and y are then dy and dx; all but the tile. False:
/// the call does not fit.
bool staged_call(const Forward& call, StagedGeometry& g);
bool staged_call(const Problem& problem, const ConstTensor& dy, const Tensor& dx, StagedGeometry& g);

}  // namespace oriel::cuda
