// Any bytes as the metadata of a Zarr array, as the index of a shard and as compressed chunks. What is read must be
// consistent, and chunks no longer than allowed; anything else is an oriel::Error of one line.
#include <cstring>
#include <string>

#include "io/zarr/codec.h"
#include "io/zarr/metadata.h"
#include "io/zarr/shard.h"

namespace {

using namespace oriel;
using namespace oriel::io::zarr;

template <class F>
void attempt(F read) {
  try {
    read();
  } catch (const Error& e) {
    if (std::strchr(e.what(), '\n') != nullptr) __builtin_trap();
  }
}

void use(const Metadata& m) {
  const int rank = m.shape.size();
  const bool shaped = m.grid.size() == rank && m.chunk().size() == rank && m.order.size() == rank;
  if (!shaped || m.fill.size() != static_cast<std::size_t>(size_bytes(m.dtype))) __builtin_trap();
  if (m.chunk_bytes() <= 0 || m.chunks_of_shard() <= 0) __builtin_trap();
  if (m.key(Extents::filled(rank, 1)).empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  attempt([&] { use(parse_zarray(text, "zarray")); });
  attempt([&] { use(parse_zarr_json(text, "zarr.json")); });
  attempt([&] { is_group(text, "zarr.json"); });
  for (const bool checksum : {false, true}) {
    for (const bool big : {false, true}) {
      attempt([&] {
        const Sharding sharding{.chunk = {1}, .index_checksum = checksum, .index_big_endian = big};
        for (const ShardEntry& entry : parse_index(bytes, sharding, size, "shard"))
          if (entry.there() && (entry.begin > size || entry.count > size - entry.begin)) __builtin_trap();
      });
    }
  }
  constexpr std::size_t most = 4096;
  using enum Codec::Kind;
  for (const Codec::Kind kind : {gzip, zlib, zstd, lz4, blosc, crc32c}) {
    attempt([&] {
      const Codec codec{.kind = kind, .compressor = "lz4"};
      const Bytes decoded = decode(codec, bytes, most, "chunk");
      if (decoded.size() > most || decode(codec, encode(codec, decoded, "chunk"), most, "chunk") != decoded)
        __builtin_trap();
    });
  }
  return 0;
}
