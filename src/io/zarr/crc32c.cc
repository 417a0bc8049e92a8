#include "io/zarr/crc32c.h"

#include <array>

namespace oriel::io::zarr {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78U;  // of the reflected bits
constexpr std::size_t kSlices = 8;

// What a byte adds that has 0 to 7 further bytes behind it.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kSlices> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1U) != 0 ? kPolynomial : 0);
    tables[0][i] = c;
  }
  for (std::size_t k = 1; k < kSlices; ++k)
    for (std::size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 255U];
  return tables;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t c = ~0U;
  std::size_t i = 0;
  const auto at = [&](std::size_t k) { return std::to_integer<std::uint32_t>(bytes[k]); };
  for (; i + kSlices <= bytes.size(); i += kSlices) {
    c ^= at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24);
    c = kTables[7][c & 255U] ^ kTables[6][(c >> 8) & 255U] ^ kTables[5][(c >> 16) & 255U] ^ kTables[4][c >> 24] ^
        kTables[3][at(i + 4)] ^ kTables[2][at(i + 5)] ^ kTables[1][at(i + 6)] ^ kTables[0][at(i + 7)];
  }
  for (; i < bytes.size(); ++i) c = (c >> 8) ^ kTables[0][(c ^ at(i)) & 255U];
  return ~c;
}

}  // namespace oriel::io::zarr
