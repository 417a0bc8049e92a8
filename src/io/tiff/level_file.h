// A TIFF of levels, put together when all tiles are there.
#pragma once

#include <string>

#include "io/tiff/level_pages.h"
#include "io/tiff/tile_spool.h"

namespace oriel::io::tiff {

/// The most bytes of a file whose places have 32 bits; larger ones become a BigTIFF.
inline constexpr index_t kMostClassic = (index_t{1} << 32) - 1;

/// Writes the file at `place`: all directories, then the tiles, those of the coarsest level first, as cloud-optimised
/// TIFFs have them. In an OME-TIFF each plane's directory names those of its levels as SubIFDs. Errors call it `path`.
void write_level_file(const std::string& place, const std::string& path, const LevelsSpec& spec, const Levels& levels,
                      const SpooledTiles& tiles, index_t most_classic = kMostClassic);

}  // namespace oriel::io::tiff
