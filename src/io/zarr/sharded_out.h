// Arrays whose chunks lie in shards, written chunk by chunk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/chunk_writer.h"
#include "io/volume.h"
#include "io/zarr/metadata.h"
#include "io/zarr/shard.h"

namespace oriel::io::zarr {

/// The encoded bytes of a chunk that waits: no more memory than they need, unlike Bytes, which takes what there is.
using WaitingChunk = std::vector<std::byte>;

/// Writes chunks, which come in any order and from several threads, into shards whose bytes do not depend on that:
/// chunks lie in a shard in Z order. One that comes before its turn waits in memory, compressed. A shard is done when
/// all of its chunks that the array has were written or left out. Of a shard that several processes write to, each
/// writes one of its own, into a folder `.shards` of the array, and of a chunk that several make, the parts:
/// complete_shards brings these together.
class ShardedOut : public VolumeOut {
 public:
  ShardedOut(std::string place, std::string name, Metadata metadata);

  void write(const Extents& begin, const ConstTensor& from) override;
  void leave_out(const Extents& begin, const Extents& shape) override;
  void close() override;

 private:
  struct Shard {
    std::vector<index_t> order;                              // chunks that the array has, by their numbers in the shard
    std::size_t next = 0;                                    // in that
    std::map<index_t, std::optional<WaitingChunk>> waiting;  // nothing: left out
    std::unique_ptr<ShardWriter> file;
  };

  void take(const Extents& begin, std::optional<WaitingChunk> encoded);

  std::string place_, name_;
  Metadata metadata_;
  std::string own_;  // the folder of shards that this process has begun
  ChunkWriter parts_;
  std::mutex mutex_;
  std::map<std::string, Shard> shards_;  // that have begun, by their keys
};

/// Makes the shards that several processes have parts of, in one process, when all have closed theirs.
void complete_shards(const std::string& place, const std::string& name, const Metadata& metadata);

}  // namespace oriel::io::zarr
