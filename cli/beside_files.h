// The files of `oriel pool --mask` and `--weights`, whole or to be read in the blocks of IN.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "io/volume.h"
#include "oriel/distributed/local_pool.h"

namespace oriel::cli {

/// Reads a file that cannot be read in parts.
using ReadWhole = io::Array (*)(const std::string& path, std::optional<Dtype> dtype);

/// The arrays of --mask and --weights; the function that pools checks their shapes.
struct BesideArrays {
  io::Array mask, weights;
};

/// Reads them whole. Throws Error; UsageError if an output is one of them.
BesideArrays read_beside(const PoolCommand& command, const io::Array& x, ReadWhole read_whole);

/// The files, open; null where none was asked for.
struct BesideVolumes {
  std::unique_ptr<io::VolumeIn> mask, weights;

  distributed::Beside shapes() const;
  /// Bytes for one element of x.
  index_t element_bytes() const;
  /// Bytes of the largest chunk of their files.
  index_t chunk_bytes() const;
};

/// Opens them. `read_whole` reads what cannot be read in parts; null: that is refused. Throws Error for a dtype or
/// shape that does not fit IN; UsageError if an output is one of them.
BesideVolumes open_beside(const PoolCommand& command, const Problem& problem, const io::VolumeIn& in,
                          ReadWhole read_whole);

/// Throws Error naming the first element that a weight must not be. `weights` are the box of the file at `begin`.
void check_weights(const std::string& file, const Pool& pool, const ConstTensor& weights, const Extents& begin);

}  // namespace oriel::cli
