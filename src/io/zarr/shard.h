// Shards: files that hold several chunks, and an index of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/zarr/metadata.h"
#include "io/zarr/store.h"

namespace oriel::io::zarr {

/// Where a chunk's bytes are in a shard.
struct ShardEntry {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t begin = kNone, count = kNone;  ///< both kNone: the chunk is missing
  bool there() const { return begin != kNone || count != kNone; }
};
using ShardIndex = std::vector<ShardEntry>;

/// Bytes of the index of so many chunks.
std::size_t index_bytes(const Sharding& sharding, index_t chunks);
/// Throws Error naming the file if the checksum is wrong or an entry lies outside of a file of `size` bytes.
ShardIndex parse_index(std::span<const std::byte> bytes, const Sharding& sharding, std::size_t size,
                       const std::string& file);
Bytes to_bytes(const ShardIndex& index, const Sharding& sharding);

/// The index of an open shard.
ShardIndex read_index(const StoreFile& file, const Sharding& sharding, index_t chunks);

}  // namespace oriel::io::zarr
