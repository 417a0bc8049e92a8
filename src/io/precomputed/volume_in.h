// A volume in the precomputed format that is being read.
#pragma once

#include "io/precomputed/info.h"
#include "io/precomputed/volume.h"
#include "io/zarr/codec.h"

namespace oriel::io::precomputed {

class PrecomputedIn : public VolumeIn {
 public:
  PrecomputedIn(const PrecomputedPath& path, std::optional<Dtype> asked);
  void read(const Extents& begin, const Tensor& to) override;

  const Info& info() const { return info_; }

 private:
  /// The elements of a chunk, x fastest, in this machine's byte order; nothing: it is missing.
  std::optional<zarr::Bytes> read_chunk(const Extents& place, const Extents& extents);
  std::optional<zarr::Bytes> read_encoded(const Extents& place, std::size_t most, std::string& file);

  std::string chunks_;  // the folder
  Info info_;
  std::optional<ShardReader> shards_;  // if it has any
};

}  // namespace oriel::io::precomputed
