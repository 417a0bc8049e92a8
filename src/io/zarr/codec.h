// Compressors and checksums of Zarr's chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/chunk_memory.h"

namespace oriel::io::zarr {

/// A step from the bytes of a chunk to those of its file.
struct Codec {
  enum class Kind : std::uint8_t { gzip, zlib, zstd, lz4, blosc, crc32c };

  Kind kind = Kind::zstd;
  int level = 1;             ///< of compression; for lz4 the acceleration
  bool checksum = false;     ///< of zstd
  std::string compressor{};  ///< inside blosc: `lz4`, `zstd` …
  int shuffle = 0;           ///< of blosc: 0 none, 1 bytes, 2 bits
  std::size_t element = 1;   ///< bytes of what blosc shuffles
  std::size_t block = 0;     ///< of blosc; 0: it decides
};

/// `gzip`, `zstd` … as in metadata.
std::string_view name(Codec::Kind kind);

/// `Bytes(n)` has no values yet.
using Bytes = std::vector<std::byte, ChunkAllocator<std::byte>>;

/// What `from` holds: at most `most` bytes. Errors, of wrong bytes too, call it `file`.
Bytes decode(const Codec& codec, std::span<const std::byte> from, std::size_t most, const std::string& file);
/// The bytes from which decode makes `from`.
Bytes encode(const Codec& codec, std::span<const std::byte> from, const std::string& file);

/// The last step of `codecs` first; the result must have `size` bytes.
Bytes decode(const std::vector<Codec>& codecs, Bytes from, std::size_t size, const std::string& file);
Bytes encode(const std::vector<Codec>& codecs, Bytes from, const std::string& file);

/// The most bytes that a chunk of `size` may have in its file.
std::size_t most_encoded(std::size_t size);

}  // namespace oriel::io::zarr
