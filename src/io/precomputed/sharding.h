// Shards of a precomputed volume: files that hold many chunks (neuroglancer_uint64_sharded_v1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/zarr/store.h"
#include "oriel/types.h"

namespace oriel::io::precomputed {

/// `sharding` of a scale.
struct Sharding {
  int preshift_bits = 0, minishard_bits = 0, shard_bits = 0;
  bool murmur = false;  ///< murmurhash3_x86_128, or identity
  bool gzip_index = false, gzip_data = false;
};

/// The number of the chunk at a place of a grid: the compressed Morton code. The grid's places must have at most 64
/// bits in all.
std::uint64_t chunk_number(const Extents& grid, const Extents& place);
/// The low 8 bytes of murmurhash3_x86_128, seed 0, of a number's 8 bytes, the lowest first.
std::uint64_t murmur_hash(std::uint64_t number);

/// Reads chunks of a scale's folder, and keeps the indexes that it read lately.
class ShardReader {
 public:
  /// `chunks`: how many the scale has at the most.
  ShardReader(std::string folder, const Sharding& sharding, index_t chunks);

  /// The bytes of a chunk, at most `most`, and the `file` that they are in; nothing: the chunk is missing. Throws
  /// Error.
  std::optional<zarr::Bytes> read(std::uint64_t chunk, std::size_t most, std::string& file);
  /// Chunks in the indexes that it keeps: at most 2^22.
  std::size_t kept() const { return kept_; }

 private:
  struct Entry {
    std::uint64_t chunk = 0, begin = 0, size = 0;
  };
  using Index = std::vector<Entry>;  // by chunk

  const Index& index_of(const zarr::StoreFile& file, std::uint64_t shard, std::uint64_t minishard);
  Index read_index(const zarr::StoreFile& file, std::uint64_t minishard) const;
  std::size_t head() const { return std::size_t{16} << sharding_.minishard_bits; }

  std::string folder_;
  Sharding sharding_;
  std::size_t most_index_ = 0;  // bytes
  std::map<std::pair<std::uint64_t, std::uint64_t>, Index> indexes_;
  std::size_t kept_ = 0;  // entries of all of them
};

}  // namespace oriel::io::precomputed
