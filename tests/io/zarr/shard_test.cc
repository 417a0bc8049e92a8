// Indexes of shards.
#include "io/zarr/shard.h"

#include <gtest/gtest.h>

#include "io/scratch.h"
#include "io/zarr/volume.h"

namespace oriel::io::zarr {
namespace {

using test::error_of;

TEST(ZarrStore, ChunksOfZerosAreTold) {
  for (const std::size_t count : {1U, 2U, 63U, 4097U}) {
    Bytes bytes(count, std::byte{0});
    EXPECT_TRUE(is_zero(bytes));
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
      bytes[at] = std::byte{128};
      EXPECT_FALSE(is_zero(bytes)) << count << ' ' << at;
      bytes[at] = std::byte{0};
    }
    EXPECT_FALSE(is_zero(Bytes(count, std::byte{7})));
  }
  EXPECT_TRUE(is_zero({}));
}

TEST(ZarrShard, IndexBothDirections) {
  const ShardIndex index{{0, 10}, {}, {10, 0}, {12, 88}};
  for (const bool checksum : {false, true}) {
    for (const bool big : {false, true}) {
      const Sharding sharding{.chunk = {1}, .index_checksum = checksum, .index_big_endian = big};
      const Bytes bytes = to_bytes(index, sharding);
      EXPECT_EQ(bytes.size(), index_bytes(sharding, 4));
      EXPECT_EQ(bytes[big ? 15 : 8], std::byte{10});
      const ShardIndex read = parse_index(bytes, sharding, 100, "f");
      ASSERT_EQ(read.size(), 4U);
      for (std::size_t i = 0; i < read.size(); ++i) {
        EXPECT_EQ(read[i].begin, index[i].begin);
        EXPECT_EQ(read[i].count, index[i].count);
        EXPECT_EQ(read[i].there(), i != 1);
      }
    }
  }
}

TEST(ZarrShard, WrongIndexes) {
  const Sharding sharding{.chunk = {1}};
  Bytes bytes = to_bytes({{90, 11}}, sharding);
  EXPECT_EQ(error_of([&] { parse_index(bytes, sharding, 100, "f"); }),
            "f: the index of the shard: chunk 0 has 11 bytes from byte 90; allowed: up to 100");
  bytes = to_bytes({{~std::uint64_t{0} - 3, 11}}, sharding);
  EXPECT_NE(error_of([&] { parse_index(bytes, sharding, 100, "f"); }), "");
  bytes[3] ^= std::byte{1};
  EXPECT_EQ(error_of([&] { parse_index(bytes, sharding, 100, "f"); }),
            "f: the index of the shard: crc32c: the checksum is wrong: the data are damaged");
}

// Written chunk by chunk in another order than they have, and read as an array.
TEST(ZarrShard, WriterAndReader) {
  for (const bool at_end : {true, false}) {
    const Scratch scratch;
    Metadata m;
    m.dtype = Dtype::u8;
    m.shape = {3, 7};
    m.grid = {4, 4};
    m.codecs = {{.kind = Codec::Kind::zstd}};
    m.sharding = Sharding{.chunk = {2, 2}, .index_at_end = at_end};
    const std::string text = to_zarr_json(m, ""), folder = scratch.path("x.zarr");
    std::filesystem::create_directory(folder);
    write_text(folder + "/zarr.json", text);
    ShardWriter shard(folder + "/" + m.key({0, 1}), "x.zarr", m), empty(folder + "/" + m.key({0, 0}), "x.zarr", m);
    for (const index_t chunk : {3, 0, 1})
      shard.append(chunk, encode(m.codecs, Bytes(4, static_cast<std::byte>(chunk + 5)), "f"));
    EXPECT_EQ(error_of([&] { shard.append(0, Bytes(1)); }), "x.zarr: chunk 0 of a shard is written twice");
    shard.close();
    empty.close();
    EXPECT_FALSE(std::filesystem::exists(folder + "/" + m.key({0, 0})));
    const auto volume = open_zarr_volume(folder, std::nullopt);
    EXPECT_EQ(volume->chunk, (Extents{2, 2}));
    const Buffer read = allocate(Dtype::u8, m.shape);
    volume->read({0, 0}, read.view);
    const Bytes wanted = [] {
      Bytes bytes;
      for (const int v : {0, 0, 0, 0, 5, 5, 6, 0, 0, 0, 0, 5, 5, 6, 0, 0, 0, 0, 0, 0, 8})
        bytes.push_back(static_cast<std::byte>(v));
      return bytes;
    }();
    EXPECT_EQ(elements(read.view), std::string(reinterpret_cast<const char*>(wanted.data()), wanted.size()));
  }
}

TEST(ZarrShard, CutOff) {
  const Scratch scratch;
  Metadata m;
  m.shape = m.grid = {4};
  m.sharding = Sharding{.chunk = {2}};
  std::filesystem::create_directories(scratch.path("x.zarr/c"));
  write_text(scratch.path("x.zarr/zarr.json"), to_zarr_json(m, ""));
  write_text(scratch.path("x.zarr/c/0"), "short");
  const auto volume = open_zarr_volume(scratch.path("x.zarr"), std::nullopt);
  const Buffer read = allocate(Dtype::f32, m.shape);
  EXPECT_EQ(error_of([&] { volume->read({0}, read.view); }),
            scratch.path("x.zarr/c/0") + ": the shard is cut off: its index needs 36 bytes, but there are 5");
}

}  // namespace
}  // namespace oriel::io::zarr
