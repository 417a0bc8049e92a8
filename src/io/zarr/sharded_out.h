// Arrays whose chunks lie in shards, written chunk by chunk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/volume.h"
#include "io/zarr/metadata.h"
#include "io/zarr/shard.h"

namespace oriel::io::zarr {

/// Writes whole chunks, which come in any order and from several threads, into shards whose bytes do not depend on
/// that: chunks lie in a shard in Z order. One that comes before its turn waits in memory, compressed. A shard is done
/// when all of its chunks that the array has were written or left out.
class ShardedOut : public VolumeOut {
 public:
  ShardedOut(std::string place, std::string name, Metadata metadata);

  void write(const Extents& begin, const ConstTensor& from) override;
  void leave_out(const Extents& begin, const Extents& shape) override;
  /// Throws Error if a shard lacks chunks.
  void close() override;

 private:
  struct Shard {
    std::vector<index_t> order;                       // chunks that the array has, by their numbers in the shard
    std::size_t next = 0;                             // in that
    std::map<index_t, std::optional<Bytes>> waiting;  // nothing: left out
    std::unique_ptr<ShardWriter> file;
  };

  // The chunk that begins at a place: its shard in the grid, and its number there.
  struct Where {
    Extents shard;
    index_t chunk = 0;
  };
  Where where(const Extents& begin) const;
  std::vector<index_t> order_in(const Extents& shard) const;
  void take(const Extents& begin, std::optional<Bytes> encoded);

  std::string place_, name_;
  Metadata metadata_;
  std::mutex mutex_;
  std::map<std::string, Shard> shards_;  // that have begun, by their keys
};

}  // namespace oriel::io::zarr
