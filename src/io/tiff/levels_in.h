// The levels of a TIFF: reduced images behind the first one, or SubIFDs of each plane.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/ome/multiscales.h"
#include "io/volume.h"

namespace oriel::io {

struct TiffLevels {
  /// Of no version. Scales are those of factors that make the levels' extents, as a TIFF says it of level 0 alone.
  ome::Multiscales image;
  std::vector<std::unique_ptr<VolumeIn>> levels;
  std::string nodata;  ///< GDAL's value of pixels without data; empty: none
};

/// Of `FILE.tif`, or `FILE.tif:all`, whose planes may have SubIFDs; nothing for other names. Throws Error naming the
/// file if it has no levels below the first, or these are no levels of all its planes.
std::optional<TiffLevels> open_tiff_levels(const std::string& path);

}  // namespace oriel::io
