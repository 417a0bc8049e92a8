// How the chunks of an output are compressed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oriel::io {

struct Compression {
  enum class Kind : std::uint8_t { none, gzip, zstd, blosc };

  Kind kind = Kind::none;
  int level = 0;
  std::string compressor{};  ///< inside blosc: `lz4`, `zstd` …
};

/// `none`, `gzip:6`, `zstd:3`, `blosc:lz4:5`; what follows the name may be left out. Throws Error naming `option`.
Compression parse_compression(std::string_view option, std::string_view text);

/// What parse_compression reads, for help and errors.
inline constexpr std::string_view kCompressions = "none, gzip:0-9, zstd:1-19, blosc:lz4|lz4hc|blosclz|zlib|zstd:0-9";

}  // namespace oriel::io
