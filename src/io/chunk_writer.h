// Chunks of an output that come in boxes, in any order and from several processes.
#pragma once

#include <functional>
#include <string>

#include "io/zarr/codec.h"
#include "oriel/tensor.h"

namespace oriel::io {

/// Gives each chunk away when it is whole: at once, if a box has all of it, or at the end. Until then its parts wait in
/// a folder of the output. Example: ChunkWriter chunks(place, "y.zarr", grid, store); chunks.write(begin, box);
class ChunkWriter {
 public:
  struct Grid {
    Dtype dtype = Dtype::f32;
    Extents shape;                  ///< of the tensor
    Extents chunk;                  ///< extents of a chunk
    Extents order;                  ///< axes of a chunk's elements from outermost to innermost
    bool clipped = false;           ///< whether chunks end where the tensor does; else other elements follow
    std::vector<std::byte> fill{};  ///< the element that follows; empty: zero
  };
  /// Given the place of a chunk in the grid and its elements, in this machine's byte order.
  using Store = std::function<void(const Extents& place, zarr::Bytes elements)>;

  /// Errors call the output `name`.
  ChunkWriter(std::string folder, std::string name, Grid grid, Store store);

  /// Makes the folder of parts, in one process, before any writes.
  static void create(const std::string& folder, const std::string& name);
  /// A box, dense in any order.
  void write(const Extents& begin, const ConstTensor& from) const;
  /// Gives the chunks away that were written in parts, in one process, when all have written theirs.
  void complete() const;

  /// The extents of a chunk that are stored.
  Extents extents(const Extents& place) const;

 private:
  Extents there(const Extents& place) const;  // what of a chunk is in the tensor
  bool has_rest(const Extents& place) const;
  zarr::Bytes blank(const Extents& place) const;
  zarr::Bytes padded(const Extents& place, zarr::Bytes bytes) const;
  void write_whole(const Extents& place, const ConstTensor& part) const;
  void write_part(const Extents& place, const Extents& in_chunk, const ConstTensor& part) const;
  void put(int descriptor, const std::byte* from, index_t count, index_t at) const;
  [[noreturn]] void fail() const;

  std::string folder_, name_;
  Grid grid_;
  Store store_;
};

}  // namespace oriel::io
