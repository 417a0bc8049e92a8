// A Zarr array that is being read.
#pragma once

#include <map>

#include "io/volume.h"
#include "io/zarr/metadata.h"
#include "io/zarr/shard.h"

namespace oriel::io::zarr {

class ZarrIn : public VolumeIn {
 public:
  ZarrIn(const std::string& path, std::optional<Dtype> asked);
  void read(const Extents& begin, const Tensor& to) override;

  const Metadata& metadata() const { return metadata_; }

 private:
  /// The decoded bytes of a chunk, in this machine's byte order; nothing: it is missing.
  std::optional<Bytes> read_chunk(const Extents& place);
  std::optional<Bytes> read_encoded(const Extents& place, std::string& file);
  const ShardEntry& entry_of(const StoreFile& shard, const Extents& in_grid, index_t chunk);

  std::string folder_;
  Metadata metadata_;
  std::map<std::string, ShardIndex> indexes_;  // of shards that were read lately
};

}  // namespace oriel::io::zarr
