// Volumes in neuroglancer's precomputed format in folders, read and written a box at a time.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "io/output.h"
#include "io/volume.h"

namespace oriel::io {

/// A folder and the key of a scale in it, `FOLDER:KEY`.
struct PrecomputedPath {
  std::string folder;
  std::string key;  ///< empty: the first scale
};
/// The parts of such a path; nothing for others. A folder is one by its ending, `.precomputed`, or by its file `info`.
std::optional<PrecomputedPath> split_precomputed_path(const std::string& path);
bool is_precomputed(const std::string& path);

/// The scale of a volume: x, y, z, and the channels if there are several. Throws Error.
std::unique_ptr<VolumeIn> open_precomputed_volume(const std::string& path, std::optional<Dtype> asked);

/// Where the voxels of an input are.
struct PrecomputedSpace {
  std::array<double, 3> resolution{};  ///< nm, of x, y, z
  std::array<index_t, 3> offset{};     ///< of the first voxel, in voxels
  bool segmentation = false;           ///< whether voxels are numbers of segments
};
/// Nothing for other formats.
std::optional<PrecomputedSpace> precomputed_space(const VolumeIn& in);

/// A folder. It replaces only volumes of one scale, without meshes and the like. Throws Error for a path with a key.
std::unique_ptr<Output> make_precomputed_output(const std::string& path);
/// Writes the `info` of a volume of one scale into the folder at `place`. Throws Error if the format cannot hold it, or
/// if its voxels would not lie on its grid.
void create_precomputed_volume(const std::string& place, const std::string& path, const VolumeSpec& spec);
/// What create_precomputed_volume made, to be written to by any number of processes.
std::unique_ptr<VolumeOut> open_precomputed_output(const std::string& place, const std::string& path,
                                                   const VolumeSpec& spec);
/// Encodes the chunks that were written in parts.
void complete_precomputed_volume(const std::string& place, const std::string& path, const VolumeSpec& spec);

}  // namespace oriel::io
