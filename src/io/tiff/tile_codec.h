// Tiles of a TIFF as they are stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/compression.h"
#include "io/zarr/codec.h"
#include "oriel/types.h"

namespace oriel::io::tiff {

/// How tiles become bytes of the file: of integers that are compressed, differences along rows.
struct TileCodec {
  Compression compression{.kind = Compression::Kind::gzip, .level = 1};
  Dtype dtype = Dtype::u8;
  index_t columns = 1;  ///< of a tile
  index_t samples = 1;  ///< of a pixel in a tile

  /// Values of the tags Compression and Predictor.
  std::uint16_t scheme() const;
  std::uint16_t predictor() const;
  /// The bytes of a tile, whose elements are taken. Errors call the output `name`.
  zarr::Bytes encode(zarr::Bytes tile, const std::string& name) const;
};

/// Throws Error, beginning with `path`, for compressors that TIFF does not have.
void check_tiff_compression(const Compression& compression, const std::string& path);

}  // namespace oriel::io::tiff
