// What one directory of a TIFF says of its image.
#pragma once

#include <optional>

#include "io/tiff/file.h"

namespace oriel::io::tiff {

/// An image of rows x columns x samples, in tiles; a strip is a tile as wide as the image.
struct Layout {
  index_t rows = 0, columns = 0, samples = 1;
  Dtype dtype = Dtype::u8;
  bool separate = false;  ///< each sample has tiles of its own
  bool tiled = false;     ///< not in strips
  index_t tile_rows = 0, tile_columns = 0;
  bool stored_raw = false;  ///< tiles are rows of samples as they are in memory, but for the byte order
  bool swapped = false;     ///< the byte order is not this machine's

  /// Samples that lie together in a tile.
  index_t tile_samples() const { return separate ? 1 : samples; }
  index_t tile_bytes() const { return tile_rows * tile_columns * tile_samples() * size_bytes(dtype); }
  index_t plane_bytes() const { return rows * columns * samples * size_bytes(dtype); }
  bool same_image(const Layout& o) const {
    return rows == o.rows && columns == o.columns && samples == o.samples && dtype == o.dtype;
  }
  bool operator==(const Layout&) const = default;
};

/// Of the current directory, which libtiff is made ready to decode. `page`, counted from 1, is for errors. Throws Error
/// for what Oriel does not read; a tile that needs more than memory_bound is refused too.
Layout read_layout(const File& file, index_t page);

/// The type of the samples; nothing for types that Oriel does not have.
std::optional<Dtype> sample_dtype(const File& file);

}  // namespace oriel::io::tiff
