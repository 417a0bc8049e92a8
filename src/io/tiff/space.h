// What a TIFF says of its axes, and of the elements that are none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/volume.h"

namespace oriel::io {

/// The axes of a TIFF input, in its order.
struct TiffSpace {
  struct Axis {
    char name = 'x';  ///< t, c, z, y, x; i for pages of no known kind
    double spacing = 1;
    std::string unit{};  ///< `micrometer`, `second` …; empty: none
  };
  std::vector<Axis> axes;  ///< samples are c, the last
  std::string nodata;      ///< GDAL's value of pixels without data; empty: none
};

/// Spacing by OME-XML, ImageJ's description, the tags of GeoTIFF or, if their unit is a length, those of the
/// resolution. Nothing for other formats. Throws Error for OME-XML that is damaged.
std::optional<TiffSpace> tiff_space(VolumeIn& in);

}  // namespace oriel::io
