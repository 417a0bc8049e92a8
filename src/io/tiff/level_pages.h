// How the levels of a pyramid are divided into images and tiles of a TIFF.
#pragma once

#include <string>
#include <vector>

#include "io/levels.h"
#include "io/tiff/geo.h"
#include "io/tiff/tile_codec.h"

namespace oriel::io::tiff {

/// The images of a level: planes of rows x columns x samples, in tiles.
struct LevelPages {
  index_t rows = 0, columns = 0, samples = 1, planes = 1;
  bool separate = false;  ///< each sample has tiles of its own
  index_t tile_rows = 0, tile_columns = 0;
  Extents tile{};   ///< extents of a tile along the level's axes
  Extents order{};  ///< axes of a tile's elements from outermost to innermost
  Extents grid{};   ///< tiles along each axis

  index_t page_tiles() const;
  index_t tiles() const { return planes * page_tiles(); }
  /// The number of the tile at a place of the grid: those of the first plane come first, in a TIFF's order.
  index_t tile_number(const Extents& place) const;
};

/// What is taken over from IN.
struct KeptTags {
  GeoTags geo;
  std::vector<std::byte> icc_profile;
  bool colours = false;                      ///< whether the first samples are red, green and blue
  std::vector<std::uint16_t> extra_samples;  ///< kinds of the others; empty: unknown
};

/// Levels that become one TIFF.
struct Levels {
  bool ome = false;  ///< an OME-TIFF, whose planes have reduced images; else a cloud-optimised TIFF
  std::vector<LevelPages> pages;
  TileCodec codec;
  KeptTags kept;
};

/// Throws Error, beginning with `path`, for what such a TIFF does not hold.
Levels divide_levels(const std::string& path, const LevelsSpec& spec, bool ome);

}  // namespace oriel::io::tiff
