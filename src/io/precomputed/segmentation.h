// neuroglancer's compressed_segmentation: blocks of labels as numbers of few bits, and tables of labels.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/zarr/codec.h"
#include "oriel/types.h"

namespace oriel::io::precomputed {

/// The labels of a chunk, x fastest, in this machine's byte order. `chunk`: x, y, z, channels; `dtype`: u32 or u64.
/// Throws Error naming `file` for bytes that are none.
zarr::Bytes decode_segmentation(std::span<const std::byte> from, const Extents& chunk, const Extents& block,
                                Dtype dtype, const std::string& file);
/// The bytes from which decode_segmentation makes `from`.
zarr::Bytes encode_segmentation(std::span<const std::byte> from, const Extents& chunk, const Extents& block,
                                Dtype dtype, const std::string& file);

/// The most bytes that such a chunk needs: each block with numbers of 32 bits and a label for each voxel.
index_t most_segmentation(const Extents& chunk, const Extents& block, Dtype dtype);

}  // namespace oriel::io::precomputed
