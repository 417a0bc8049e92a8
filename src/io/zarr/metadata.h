// What the metadata of a Zarr array say: `.zarray` of version 2, `zarr.json` of version 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/zarr/codec.h"
#include "oriel/types.h"

namespace oriel::io::zarr {

/// Chunks that lie in one file, behind or before an index of them.
struct Sharding {
  Extents chunk;  ///< extents of the inner chunks
  bool index_at_end = true;
  bool index_checksum = true;
  bool index_big_endian = false;
};

struct Metadata {
  int version = 3;
  Dtype dtype = Dtype::f32;
  bool big_endian = false;
  Extents shape;
  Extents grid;                 ///< extents of what one file holds: a chunk, or a shard
  Extents order;                ///< axes of a chunk's elements from outermost to innermost
  std::vector<std::byte> fill;  ///< one element, in this machine's byte order
  std::vector<Codec> codecs;
  std::optional<Sharding> sharding;
  bool keys_begin_with_c = true;
  char separator = '/';
  std::string attributes;       ///< a JSON object; empty: none
  std::string dimension_names;  ///< a JSON list; empty: none

  const Extents& chunk() const { return sharding ? sharding->chunk : grid; }
  index_t chunk_bytes() const;
  /// Chunks of a shard; 1 if there are none.
  index_t chunks_of_shard() const;
  /// The name of the file at a place of the grid, relative to the array's folder.
  std::string key(const Extents& place) const;
};

/// Throws Error naming the file, what is wrong or not supported, and what is allowed.
Metadata parse_zarray(std::string_view text, const std::string& file);
Metadata parse_zarr_json(std::string_view text, const std::string& file);
/// Whether it is the `zarr.json` of a group. Throws Error if it is neither that nor an array's.
bool is_group(std::string_view text, const std::string& file);

/// The `zarr.json` of it, with the attributes and `oriel_problem`.
std::string to_zarr_json(const Metadata& metadata, const std::string& problem);
/// The `.zarray` of it, of version 2, and the `.zattrs`.
std::string to_zarray(const Metadata& metadata);
std::string to_zattrs(const Metadata& metadata, const std::string& problem);

/// The largest file of metadata that is read.
inline constexpr std::size_t kMostMetadata = std::size_t{16} << 20;

}  // namespace oriel::io::zarr
