// Files of a Zarr store that is a folder, and boxes of chunks.
#pragma once

#include <optional>
#include <string>

#include "io/zarr/codec.h"
#include "oriel/tensor.h"

namespace oriel::io::zarr {

/// An open file that is read at places.
class StoreFile {
 public:
  /// Nothing if there is no such file. Throws Error.
  static std::optional<StoreFile> open(const std::string& path);
  StoreFile(StoreFile&& other) noexcept;
  StoreFile& operator=(StoreFile&& other) = delete;
  ~StoreFile();

  std::size_t size() const { return size_; }
  const std::string& path() const { return path_; }
  /// Throws Error unless all of them are there.
  Bytes read(std::size_t at, std::size_t count) const;

 private:
  StoreFile(std::string path, int descriptor, std::size_t size);

  std::string path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

/// All of a file; nothing if there is none. Throws Error if it has more than `most` bytes.
std::optional<Bytes> read_file(const std::string& path, std::size_t most);
std::optional<std::string> read_text_file(const std::string& path, std::size_t most);

/// Makes the file, and its folders. Errors call it `name`.
void write_file(const std::string& path, std::span<const std::byte> bytes, const std::string& name);

/// Makes the folder, and those that it lies in. Errors call it `name`.
void make_folder(const std::string& path, const std::string& name);

/// Whether all bytes are zero.
bool is_zero(std::span<const std::byte> bytes);

/// `path` without slashes at its end.
std::string without_slashes(std::string path);

/// Copies every element; dtypes and shapes are the same.
void copy_box(const ConstTensor& from, const Tensor& to);

/// The part that a chunk and a box have in common, seen from either.
struct Overlap {
  Extents in_chunk, in_box, shape;
};
Overlap overlap(const Extents& chunk_begin, const Extents& chunk, const Extents& begin, const Extents& box);

/// The offset in elements of a place.
index_t offset(const Extents& place, const Extents& pitch);

}  // namespace oriel::io::zarr
