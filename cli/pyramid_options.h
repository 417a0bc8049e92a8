// The options of `oriel pyramid` as text, and what they mean for a volume.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "io/levels.h"
#include "io/ome/multiscales.h"
#include "io/volume.h"
#include "oriel/pyramid.h"

namespace oriel::cli {

/// A volume as OME-Zarr describes one, axes in C order, those of space last: one whose first axis is the innermost has
/// them turned round, and those of a TIFF are time, channels, space, whatever their order in the file.
struct PyramidInput {
  Dtype dtype = Dtype::f32;
  Extents shape, chunk;
  Extents from{};       ///< the file's axis that each axis is
  bool labels = false;  ///< whether it says that elements are numbers of segments
  std::vector<io::ome::Axis> axes;
  LevelCoordinates coordinates;   ///< of level 0
  std::vector<index_t> offset{};  ///< of the first element, in elements, if the file has coordinates for these
  std::string nodata{};           ///< what the file says that elements without data have; empty: nothing
};

/// The format of OUT; null: none has it.
const io::LevelsFormat* pyramid_format(const std::string& out);

/// What is known of an input, and what the options say instead. Throws Error.
PyramidInput describe_input(const PyramidCommand& command, io::VolumeIn& in);

/// The value of elements without data, of what a file says of them; nothing if its dtype has no such value.
std::optional<Scalar> nodata_of(const std::string& text, Dtype dtype);

/// The pyramid that the options describe for a volume. Throws Error naming the option.
Pyramid make_pyramid(const PyramidCommand& command, const PyramidInput& input);

/// Extents of the shards of every level; empty: none. Throws Error naming the option.
Extents pyramid_shard(const PyramidCommand& command, const PyramidInput& input);
/// Extents of the chunks of every level.
Extents pyramid_chunk(const PyramidCommand& command, const PyramidInput& input);

}  // namespace oriel::cli
