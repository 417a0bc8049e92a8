// A scale in the precomputed format that is being written.
#pragma once

#include <string>

#include "io/chunk_writer.h"
#include "io/precomputed/info.h"
#include "io/volume.h"
#include "io/zarr/codec.h"

namespace oriel::io::precomputed {

/// Boxes may come from several threads and processes at once, dense in any order.
class PrecomputedOut : public VolumeOut {
 public:
  /// `folder`: of the chunks; `parts`: the one that ChunkWriter::create was called with; `shape`: x, y, z, and channels
  /// if the boxes have that axis.
  PrecomputedOut(std::string folder, const std::string& parts, std::string name, Info info, const Extents& shape);
  PrecomputedOut(const PrecomputedOut&) = delete;
  PrecomputedOut& operator=(const PrecomputedOut&) = delete;

  void write(const Extents& begin, const ConstTensor& from) override { chunks_.write(begin, from); }
  void close() override {}
  /// Encodes the chunks that came in parts, in one process, when all have written theirs.
  void complete() const { chunks_.complete(); }

 private:
  void write_chunk(const Extents& at, zarr::Bytes& elements) const;

  std::string name_;
  Info info_;
  std::string folder_;
  ChunkWriter chunks_;
};

}  // namespace oriel::io::precomputed
