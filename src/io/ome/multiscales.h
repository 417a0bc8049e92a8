// The metadata of OME-Zarr images: levels of resolution in a Zarr group, and where their elements are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oriel/types.h"

namespace oriel::io::ome {

struct Axis {
  std::string name;
  std::string type;  ///< `space`, `time`, `channel`; empty: another
  std::string unit;  ///< `micrometer`, `second` …; empty: none
};

/// An array of the group, and where its elements are: element i of an axis at scale * i + translation.
struct Level {
  std::string path;
  std::vector<double> scale, translation;
  std::vector<std::string> faults{};  ///< what the specification does not allow of its transformations, if it was read
};

struct Multiscales {
  std::string version;  ///< `0.4`, `0.5`
  std::string name;
  std::string method;       ///< `type` of the metadata, e.g. `mean`
  std::string description;  ///< of how levels were made
  std::vector<Axis> axes;
  std::vector<Level> levels;  ///< the finest first
  bool labels = false;        ///< whether elements are numbers of segments
  bool has_version = true;    ///< whether the metadata have a version; 0.4 may lack it
};

/// The first image of a group; nothing if the folder is no group of OME-Zarr. Versions 0.4 and 0.5; throws Error naming
/// the file for metadata that are neither, or wrong. Scales and translations in any number and order are read, and are
/// `faults` of a level unless they are as the specification says.
std::optional<Multiscales> read_multiscales(const std::string& folder);

/// The image of which `array`, a folder, is a level, and the level's number.
struct LevelOf {
  Multiscales image;
  std::size_t level = 0;
};
std::optional<LevelOf> level_of(const std::string& array);

/// Names, types and units for axes that a file does not name: the last three z, y and x, before them c and t.
std::vector<Axis> usual_axes(int rank);

/// Throws Error, beginning with `path`, for axes that the specification does not allow: 2 to 5, time before channel
/// before space, two or three of space.
void check_axes(const std::vector<Axis>& axes, const std::string& path);

/// Writes the metadata of a group at `place`: its `zarr.json` for version 0.5, `.zgroup` and `.zattrs` for 0.4. Errors
/// call it `path`.
void write_group(const std::string& place, const std::string& path, const Multiscales& image);

/// The metadata of an image's group, `text` of `file`, with other levels: all else that it says stays.
std::string with_levels(const std::string& text, const Multiscales& image, const std::string& file);

}  // namespace oriel::io::ome
