// The `info` of a volume in neuroglancer's precomputed format.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/precomputed/sharding.h"
#include "oriel/types.h"

namespace oriel::io::precomputed {

/// Axes of space: x, y, z.
inline constexpr int kSpace = 3;

enum class Encoding : std::uint8_t { raw, compressed_segmentation };

/// One resolution of a volume.
struct Scale {
  std::string key;                                 ///< the folder of its chunks
  Extents size{};                                  ///< in voxels
  Extents offset = Extents::filled(kSpace, 0);     ///< of the first voxel; may be negative
  Extents chunk{};                                 ///< extents in space of a chunk
  std::array<double, kSpace> resolution{1, 1, 1};  ///< nm per voxel
  Encoding encoding = Encoding::raw;
  Extents block{};  ///< of compressed_segmentation
  std::optional<Sharding> sharding{};
};

struct Info {
  bool segmentation = false;  ///< or image
  Dtype dtype = Dtype::u8;
  index_t channels = 1;
  Scale scale;

  /// x, y, z, and the channels if there are several.
  Extents shape() const;
  /// The extents of a chunk, which has all channels.
  Extents chunk() const;
  /// How many chunks there are along x, y, z.
  Extents grid() const;
  /// The name of the file of the chunk at a place of the grid.
  std::string chunk_name(const Extents& place) const;
};

/// With the scale of that key, the first if it is empty. Throws Error naming the file, what is wrong or not supported,
/// and what is allowed.
Info parse_info(std::string_view text, const std::string& key, const std::string& file);
/// The `info` of a volume with that scale only, with `oriel_problem`.
std::string to_json(const Info& info, const std::string& problem);
/// The `info` of a volume with these scales, of one type and as many channels.
std::string to_json(std::span<const Info> scales);

/// Whether the text says that it is the `info` of a volume. Never throws.
bool is_volume_info(std::string_view text);
/// Whether that is all there is: one scale, no meshes, skeletons or properties. Never throws.
bool is_one_scale(std::string_view text);
/// Whether all there is are scales. Never throws.
bool is_scales_only(std::string_view text);

/// The largest `info` that is read.
inline constexpr std::size_t kMostInfo = std::size_t{16} << 20;

/// `uint8` …; empty: a type that the format does not have.
std::string type_name(Dtype dtype);

}  // namespace oriel::io::precomputed
