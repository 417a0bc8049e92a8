// A Zarr array that is being read.
#pragma once

#include <map>
#include <utility>

#include "io/volume.h"
#include "io/zarr/metadata.h"
#include "io/zarr/shard.h"

namespace oriel::io::zarr {

class ZarrIn : public VolumeIn {
 public:
  ZarrIn(const std::string& path, std::optional<Dtype> asked);
  void read(const Extents& begin, const Tensor& to) override;
  /// Whether all chunks of the box are missing: then it has the fill value.
  bool is_uniform(const Extents& begin, const Extents& box, void* element) override;

  const Metadata& metadata() const { return metadata_; }
  /// An object of JSON, or empty. Throws Error naming the file if what it holds is none.
  std::string attributes() const;

 private:
  /// The decoded bytes of a chunk, in this machine's byte order; nothing: it is missing.
  std::optional<Bytes> read_chunk(const Extents& place);
  bool has_chunk(const Extents& place);
  /// The place of a chunk's shard in the grid, and the chunk's number in it.
  std::pair<Extents, index_t> in_shard(const Extents& place) const;
  std::optional<Bytes> read_encoded(const Extents& place, std::string& file);
  const ShardEntry& entry_of(const StoreFile& shard, const Extents& in_grid, index_t chunk);

  std::string folder_;
  Metadata metadata_;
  std::map<std::string, ShardIndex> indexes_;  // of shards that were read lately
};

}  // namespace oriel::io::zarr
