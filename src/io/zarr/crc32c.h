// The checksum that Zarr's codecs and shards have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace oriel::io::zarr {

/// CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace oriel::io::zarr
