// The elements that the pixels of a plane show, read without the rest of the volume.
#pragma once

#include <cstdint>
#include <vector>

#include "io/volume.h"

namespace oriel::cli {

/// Which element of an array each pixel shows: of two axes an index for each row and column of pixels, ascending or
/// descending; -1: none. All others are at `begin`.
struct PlaneIndices {
  Extents begin;
  int down = 0, right = 0;  ///< axes
  std::vector<index_t> rows, columns;
};

/// Elements of a plane, a row of pixels after the other.
struct PlaneSamples {
  std::vector<bool> there;             ///< whether a pixel shows an element
  std::vector<double> values;          ///< of intensities
  std::vector<std::uint64_t> numbers;  ///< of labels
};

/// Bytes of all chunks that read_plane would decode.
double bytes_to_read(const io::VolumeIn& in, const PlaneIndices& indices);

/// Reads chunk by chunk, at most 8 MiB at once besides a chunk. Throws Error.
PlaneSamples read_plane(io::VolumeIn& in, const PlaneIndices& indices, bool labels);

}  // namespace oriel::cli
