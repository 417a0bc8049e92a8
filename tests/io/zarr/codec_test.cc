// Compressors and checksums of Zarr's chunks: both directions, and bytes that are wrong.
#include "io/zarr/codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "io/zarr/crc32c.h"
#include "support.h"

namespace oriel::io::zarr {
namespace {

using test::error_of;

Bytes bytes_of(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Long runs and noise.
Bytes sample(std::size_t count) {
  std::mt19937 random(7);
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = i % 256 < 200 ? std::byte{3} : static_cast<std::byte>(random());
  return bytes;
}

std::vector<Codec> all_codecs() {
  std::vector<Codec> codecs{{.kind = Codec::Kind::gzip, .level = 5},
                            {.kind = Codec::Kind::gzip, .level = 0},
                            {.kind = Codec::Kind::zlib, .level = 1},
                            {.kind = Codec::Kind::zstd, .level = 3},
                            {.kind = Codec::Kind::zstd, .level = -5, .checksum = true},
                            {.kind = Codec::Kind::lz4, .level = 1},
                            {.kind = Codec::Kind::crc32c}};
  for (const char* inner : {"blosclz", "lz4", "lz4hc", "zlib", "zstd"})
    for (const int shuffle : {0, 1, 2})
      codecs.push_back({.kind = Codec::Kind::blosc, .level = 5, .compressor = inner, .shuffle = shuffle, .element = 4});
  return codecs;
}

TEST(ZarrCodec, BothDirections) {
  for (const Codec& codec : all_codecs()) {
    for (const std::size_t count : {1U, 3U, 1000U, 100000U}) {
      const Bytes data = sample(count), file = encode(codec, data, "f");
      EXPECT_EQ(decode(codec, file, count, "f"), data) << name(codec.kind) << ' ' << codec.compressor;
      EXPECT_EQ(decode(codec, file, count + 5, "f"), data) << name(codec.kind);
      EXPECT_LE(file.size(), most_encoded(count));
      if (count > 3 && codec.kind != Codec::Kind::crc32c && codec.level != 0) {
        EXPECT_LT(file.size(), count) << name(codec.kind);
      }
    }
  }
}

TEST(ZarrCodec, LongerThanAllowed) {
  for (const Codec& codec : all_codecs()) {
    const Bytes file = encode(codec, sample(1000), "f");
    EXPECT_EQ(error_of([&] { decode(codec, file, 999, "f"); }),
              "f: " + std::string(name(codec.kind)) + ": the data are longer than a chunk; allowed: 999 bytes");
  }
}

// Any beginning of a file is an error, never a shorter chunk.
TEST(ZarrCodec, CutOff) {
  for (const Codec& codec : all_codecs()) {
    const Bytes file = encode(codec, sample(300), "f");
    for (std::size_t n = 0; n < file.size(); ++n) {
      const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_NE(error_of([&] { decode(std::vector{codec}, part, 300, "f"); }), "") << name(codec.kind) << ' ' << n;
    }
  }
}

TEST(ZarrCodec, DamagedBytesAreSeenByChecksums) {
  for (const Codec& codec : {Codec{.kind = Codec::Kind::gzip}, Codec{.kind = Codec::Kind::zlib},
                             Codec{.kind = Codec::Kind::zstd, .checksum = true}, Codec{.kind = Codec::Kind::crc32c}}) {
    Bytes file = encode(codec, sample(1000), "f");
    file[file.size() - 2] ^= std::byte{1};
    EXPECT_NE(error_of([&] { decode(codec, file, 1000, "f"); }), "") << name(codec.kind);
  }
}

// What a thread compressed before must not show: files are the same for any number of threads.
TEST(ZarrCodec, BytesDoNotDependOnEarlierChunks) {
  std::mt19937 random(11);
  for (const int level : {-5, 1, 2, 3, 4, 6, 12}) {
    const Codec codec{.kind = Codec::Kind::zstd, .level = level};
    for (const std::size_t count : {5000U, 150000U}) {
      Bytes data = sample(count);
      for (std::size_t i = 0; i < count; i += 1 + random() % 64) data[i] = static_cast<std::byte>(random() % 4);
      Bytes fresh;
      std::thread([&] { fresh = encode(codec, data, "f"); }).join();
      for (int turn = 0; turn < 3; ++turn) {
        EXPECT_EQ(encode(codec, data, "f"), fresh) << level << ' ' << count << ' ' << turn;
        encode({.kind = Codec::Kind::zstd, .level = 1 + turn, .checksum = true}, sample(count / 2 + 7), "f");
      }
      EXPECT_EQ(decode(codec, fresh, count, "f"), data);
    }
  }
}

// A thread goes on with its context after bytes that were wrong.
TEST(ZarrCodec, ReadsOnAfterDamage) {
  const Codec codec{.kind = Codec::Kind::zstd, .level = 1, .checksum = true};
  const Bytes data = sample(200000), file = encode(codec, data, "f");
  Bytes damaged = file;
  damaged[damaged.size() / 2] ^= std::byte{255};
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_NE(error_of([&] { decode(codec, damaged, data.size(), "f"); }), "");
    EXPECT_EQ(decode(codec, file, data.size(), "f"), data);
  }
}

TEST(ZarrCodec, GzipOfSeveralMembers) {
  const Codec gzip{.kind = Codec::Kind::gzip};
  Bytes file = encode(gzip, bytes_of("abc"), "f");
  const Bytes more = encode(gzip, bytes_of("de"), "f");
  file.insert(file.end(), more.begin(), more.end());
  EXPECT_EQ(decode(gzip, file, 5, "f"), bytes_of("abcde"));
}

TEST(ZarrCodec, Chains) {
  const std::vector<Codec> chain{
      {.kind = Codec::Kind::zstd}, {.kind = Codec::Kind::gzip}, {.kind = Codec::Kind::crc32c}};
  const Bytes data = sample(5000);
  EXPECT_EQ(decode(chain, encode(chain, data, "f"), data.size(), "f"), data);
  EXPECT_EQ(error_of([&] { decode(chain, encode(chain, data, "f"), data.size() + 1, "f"); }),
            "f: the chunk has 5000 bytes; allowed: 5001, what its metadata say");
}

// RFC 3720, B.4.
TEST(ZarrCodec, Crc32c) {
  EXPECT_EQ(crc32c({}), 0U);
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{255})), 0x62a8ab43U);
}

}  // namespace
}  // namespace oriel::io::zarr
