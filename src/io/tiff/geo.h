// Where the pixels of a GeoTIFF are: its tags, and what becomes of them when it is pooled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/scaling.h"
#include "io/tiff/file.h"

namespace oriel::io::tiff {

/// Numbers of the tags below.
inline constexpr std::uint32_t kPixelScale = 33550, kTiePoints = 33922, kTransformation = 34264, kKeys = 34735,
                               kDoubleKeys = 34736, kTextKeys = 34737, kMetadata = 42112, kNoData = 42113;

/// The tags of GeoTIFF and those of GDAL beside them; those that a file does not have are empty.
struct GeoTags {
  std::vector<double> pixel_scale;     ///< 33550: model units per pixel: x, y, z
  std::vector<double> tie_points;      ///< 33922: i, j, k, x, y, z of each
  std::vector<double> transformation;  ///< 34264: a matrix of 4x4
  std::vector<std::uint16_t> keys;     ///< 34735
  std::vector<double> double_keys;     ///< 34736
  std::string text_keys;               ///< 34737
  std::string metadata;                ///< 42112, GDAL's
  std::string no_data;                 ///< 42113, GDAL's

  /// Whether the file says where its pixels are.
  bool placed() const {
    return !pixel_scale.empty() || !tie_points.empty() || !transformation.empty() || !keys.empty();
  }
};

/// Of the current directory. Tags of a wrong type or size count as missing.
GeoTags read_geo(const File& file);
/// Sets them in the directory that is being written. Throws Error naming `file`.
void write_geo(TIFF* tiff, const GeoTags& tags, const std::string& file);

/// How far apart pixels are in units of the model.
struct GeoSpacing {
  double x = 1, y = 1;
  std::string unit;  ///< `meter`; empty: another, such as degrees
};
/// Nothing if the tags do not say it.
std::optional<GeoSpacing> spacing_of(const GeoTags& tags);

/// The tags of the result.
GeoTags scaled(GeoTags tags, const Scaling& x, const Scaling& y);

}  // namespace oriel::io::tiff
