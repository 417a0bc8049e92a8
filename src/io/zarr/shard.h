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

/// Writes a shard whose chunks come one by one, in any order: each is appended to the file, and the index is written
/// last. No more than one chunk is in memory. Used by one thread at a time. Example: ShardWriter shard(place, "y.zarr",
/// metadata); shard.append(3, encoded); shard.close();
class ShardWriter {
 public:
  /// Creates the file at `place`, and its folders, with the first chunk. Errors call it `name`.
  ShardWriter(std::string place, std::string name, const Metadata& metadata);
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;
  ~ShardWriter();

  /// The encoded bytes of a chunk, which is given once. Chunks that are never given are missing.
  void append(index_t chunk, std::span<const std::byte> encoded);
  /// Writes the index; a shard without chunks has no file.
  void close();

 private:
  void create();
  void write(std::span<const std::byte> bytes, std::uint64_t at);
  [[noreturn]] void fail() const;

  std::string place_, name_;
  Sharding sharding_;
  ShardIndex index_;
  std::uint64_t end_ = 0;  // of what is written
  int descriptor_ = -1;
};

}  // namespace oriel::io::zarr
