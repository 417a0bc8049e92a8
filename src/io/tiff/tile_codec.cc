#include "io/tiff/tile_codec.h"

#include <fmt/format.h>
#include <tiffio.h>

#include <cstring>

namespace oriel::io::tiff {
namespace {

using Kind = Compression::Kind;

// Each sample less that of the pixel before it, from the end of each row; differences wrap around.
template <class T>
void subtract_neighbours(zarr::Bytes& tile, index_t row, index_t samples) {
  const index_t count = static_cast<index_t>(tile.size() / sizeof(T));
  std::vector<T> line(static_cast<std::size_t>(row));
  const auto bytes = static_cast<std::size_t>(row) * sizeof(T);
  for (index_t begin = 0; begin + row <= count; begin += row) {
    std::byte* const at = tile.data() + static_cast<std::size_t>(begin) * sizeof(T);
    std::memcpy(line.data(), at, bytes);
    for (index_t i = row - 1; i >= samples; --i) {
      T& value = line[static_cast<std::size_t>(i)];
      value = static_cast<T>(value - line[static_cast<std::size_t>(i - samples)]);
    }
    std::memcpy(at, line.data(), bytes);
  }
}

}  // namespace

std::uint16_t TileCodec::scheme() const {
  switch (compression.kind) {
    case Kind::none:
      return COMPRESSION_NONE;
    case Kind::zstd:
      return COMPRESSION_ZSTD;
    default:
      return COMPRESSION_ADOBE_DEFLATE;
  }
}

// That of floats is unknown to many programs.
std::uint16_t TileCodec::predictor() const {
  return compression.kind != Kind::none && !is_floating(dtype) ? PREDICTOR_HORIZONTAL : PREDICTOR_NONE;
}

zarr::Bytes TileCodec::encode(zarr::Bytes tile, const std::string& name) const {
  if (compression.kind == Kind::none) return tile;
  if (predictor() == PREDICTOR_HORIZONTAL) {
    const index_t row = columns * samples;
    switch (size_bytes(dtype)) {
      case sizeof(std::uint8_t):
        subtract_neighbours<std::uint8_t>(tile, row, samples);
        break;
      case sizeof(std::uint16_t):
        subtract_neighbours<std::uint16_t>(tile, row, samples);
        break;
      case sizeof(std::uint32_t):
        subtract_neighbours<std::uint32_t>(tile, row, samples);
        break;
      default:
        subtract_neighbours<std::uint64_t>(tile, row, samples);
    }
  }
  const bool zstd = compression.kind == Kind::zstd;
  return zarr::encode({.kind = zstd ? zarr::Codec::Kind::zstd : zarr::Codec::Kind::zlib, .level = compression.level},
                      tile, name);
}

void check_tiff_compression(const Compression& compression, const std::string& path) {
  if (compression.kind == Kind::blosc)
    throw Error(fmt::format("{}: TIFF has no blosc; allowed: --codec none, gzip:0-9, zstd:1-19", path));
}

}  // namespace oriel::io::tiff
