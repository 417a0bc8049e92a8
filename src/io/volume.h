// Tensors in files, read and written a box at a time: what does not fit into memory passes through it in blocks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/array.h"
#include "io/compression.h"

namespace oriel::io {

/// A tensor in an open file.
class VolumeIn {
 public:
  virtual ~VolumeIn() = default;
  /// Fills `to` with the box that begins at `begin` and has its shape; its memory is dense in `order`. Throws Error.
  virtual void read(const Extents& begin, const Tensor& to) = 0;
  /// Whether the box is known, without reading elements, to hold nothing but the value of `element`, which is then set.
  virtual bool is_uniform(const Extents& begin, const Extents& box, void* element) {
    (void)begin, (void)box, (void)element;
    return false;
  }

  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents order;                   ///< axes from outermost to innermost in the file; boxes in memory have the same
  Extents chunk;                   ///< of the file's own blocks; empty where it has none
  std::string part;                ///< what of the file it is: a dataset, an array of an archive; empty: all of it
  std::optional<Picture> picture;  ///< if it is one
  std::vector<std::byte> fill;     ///< the element of chunks that the file leaves out; empty: it has all, or zero
};

/// A tensor in a file that is being written, in C order. Boxes may come in any order, each once.
class VolumeOut {
 public:
  virtual ~VolumeOut() = default;
  /// Writes `from`, dense in C order, as the box that begins at `begin`. Throws Error.
  virtual void write(const Extents& begin, const ConstTensor& from) = 0;
  /// Instead of writing a box, if it holds nothing but the fill value (VolumeSpec::fill).
  virtual void leave_out(const Extents& begin, const Extents& box) { (void)begin, (void)box; }
  /// Brings everything to the disk and closes the file. Throws Error.
  virtual void close() = 0;
};

/// What a tensor to be written is.
struct VolumeSpec {
  Dtype dtype = Dtype::f32;
  Extents shape;
  Extents chunk;             ///< blocks that the file is made of; empty: one piece
  std::string problem;       ///< the name of the problem that made it, kept as an attribute where the format has any
  VolumeIn* like = nullptr;  ///< whose attributes are taken over, where both formats have any
  std::vector<std::string> axes{};     ///< names, where the format has any; empty: those of `like`, or none
  std::optional<Compression> codec{};  ///< of the chunks; nothing: what the format does by itself
  Extents shard{};                ///< of Zarr: extents of what lies in one file, multiples of the chunk; empty: a chunk
  int zarr_version = 3;           ///< 2 has no shards
  std::vector<std::byte> fill{};  ///< of Zarr: the element of which chunks are not written; empty: zero
};

/// A file and a dataset's path in it, `FILE.h5:/path` or `FILE.hdf5:/path`.
struct Hdf5Path {
  std::string file;
  std::string dataset;  ///< begins with a slash; empty where none is given
};
/// The parts of such a path; nothing where the name is not one of an HDF5 file.
std::optional<Hdf5Path> split_hdf5_path(const std::string& path);

/// A dataset's path without what may be left out: `/a//b/./` becomes `/a/b`. Empty for an empty one.
std::string normal_hdf5_name(const std::string& dataset);

/// Chunks of at most 1 MiB: the longest axis is halved until they are.
Extents default_chunk(const Extents& shape, Dtype dtype);

/// The longest runs of a box that lie together, both in a tensor of `shape` (dense in `order`) and in the box itself:
/// calls run(element in the tensor, element in the box, count) for each.
void for_each_run(const Extents& shape, const Extents& order, const Extents& begin, const Extents& box,
                  const std::function<void(index_t, index_t, index_t)>& run);

/// An array in memory as a volume.
std::unique_ptr<VolumeIn> volume_of(Array array);

/// The array of a .npy file, which must be a regular one. Throws Error naming the file.
std::unique_ptr<VolumeIn> open_npy_volume(const std::string& path, std::optional<Dtype> dtype);

/// Makes the file at `place` a .npy file of that size, its data zeros. Throws Error, which calls it `file`.
void create_npy_volume(const std::string& place, const std::string& file, const VolumeSpec& spec);
/// The file that create_npy_volume made, to be written to; several processes may open it at once.
std::unique_ptr<VolumeOut> open_npy_output(const std::string& place, const std::string& file, const VolumeSpec& spec);

}  // namespace oriel::io
