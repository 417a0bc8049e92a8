// Indexes of shards.
#include "io/zarr/shard.h"

#include <gtest/gtest.h>

#include "support.h"

namespace oriel::io::zarr {
namespace {

using test::error_of;

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

}  // namespace
}  // namespace oriel::io::zarr
