// The `info` of precomputed volumes and compressed_segmentation: what is read, refused and written.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "io/precomputed/info.h"
#include "io/precomputed/segmentation.h"
#include "io/precomputed/sharding.h"
#include "io/scratch.h"
#include "io/zarr/json.h"
#include "oriel/tensor.h"
#include "support.h"

namespace oriel::io::precomputed {
namespace {

using test::error_of;
using zarr::Json;

Json info_json() {
  const Json scale{{"key", "8_8_40"},
                   {"size", {37, 29, 23}},
                   {"voxel_offset", {-5, 0, 7}},
                   {"resolution", {8, 8, 40.5}},
                   {"chunk_sizes", Json::array({{16, 64, 9}, {1, 1, 1}})},
                   {"encoding", "compressed_segmentation"},
                   {"compressed_segmentation_block_size", {8, 8, 4}}};
  Json other = scale;
  other["key"] = "16_16_81";
  other["encoding"] = "jpeg";
  return {{"@type", "neuroglancer_multiscale_volume"},
          {"type", "segmentation"},
          {"data_type", "uint64"},
          {"num_channels", 1},
          {"scales", {scale, other}}};
}

TEST(PrecomputedInfo, Scale) {
  const Info info = parse_info(info_json().dump(), "", "f");
  EXPECT_TRUE(info.segmentation);
  EXPECT_EQ(info.dtype, Dtype::u64);
  EXPECT_EQ(info.shape(), (Extents{37, 29, 23}));
  EXPECT_EQ(info.chunk(), (Extents{16, 29, 9}));
  EXPECT_EQ(info.scale.resolution[2], 40.5);
  EXPECT_EQ(info.chunk_name({0, 0, 0}), "-5-11_0-29_7-16");
  EXPECT_EQ(info.chunk_name({2, 0, 2}), "27-32_0-29_25-30");
}

TEST(PrecomputedInfo, ChannelsAreTheLastAxis) {
  Json root = info_json();
  root["num_channels"] = 3;
  const Info info = parse_info(root.dump(), "8_8_40", "f");
  EXPECT_EQ(info.shape(), (Extents{37, 29, 23, 3}));
  EXPECT_EQ(info.chunk(), (Extents{16, 29, 9, 3}));
}

TEST(PrecomputedInfo, IsWrittenAsItIsRead) {
  const Info info = parse_info(info_json().dump(), "", "f");
  const Json written = Json::parse(to_json(info, "mode:u64:x"));
  EXPECT_EQ(written["oriel_problem"], "mode:u64:x");
  Json wanted = info_json();
  wanted["scales"].erase(1);
  wanted["scales"][0]["chunk_sizes"].erase(1);
  wanted["oriel_problem"] = "mode:u64:x";
  EXPECT_EQ(written, wanted);
  EXPECT_TRUE(is_one_scale(to_json(info, "")));
  EXPECT_FALSE(is_one_scale(info_json().dump()));
  wanted["mesh"] = "mesh";
  EXPECT_FALSE(is_one_scale(wanted.dump()));
  EXPECT_TRUE(is_volume_info(wanted.dump()));
  EXPECT_FALSE(is_volume_info("{}"));
  EXPECT_FALSE(is_volume_info("{"));
}

TEST(PrecomputedInfo, SeveralScales) {
  const Info fine = parse_info(info_json().dump(), "", "f");
  Info coarse = fine;
  coarse.scale.key = "16_16_81";
  coarse.scale.size = {19, 15, 12};
  coarse.scale.resolution = {16, 16, 81};
  const std::string text = to_json(std::vector<Info>{fine, coarse});
  EXPECT_TRUE(is_scales_only(text));
  EXPECT_FALSE(is_one_scale(text));
  EXPECT_EQ(parse_info(text, "", "f").scale.size, fine.scale.size);
  EXPECT_EQ(parse_info(text, "16_16_81", "f").scale.size, coarse.scale.size);
  Json more = Json::parse(text);
  more["skeletons"] = "s";
  EXPECT_FALSE(is_scales_only(more.dump()));
  EXPECT_FALSE(is_scales_only("{"));
}

TEST(PrecomputedInfo, ScalesThatAreNotThereOrNotSupported) {
  const std::string text = info_json().dump();
  EXPECT_EQ(error_of([&] { parse_info(text, "8_8_8", "f"); }), "f: has no scale '8_8_8'; allowed: 8_8_40, 16_16_81");
  EXPECT_EQ(error_of([&] { parse_info(text, "16_16_81", "f"); }),
            "f: encoding: \"jpeg\"; allowed: raw, compressed_segmentation");
}

constexpr auto kDtypes = {Dtype::u32, Dtype::u64};

// `bits`: of the number of different labels.
zarr::Bytes labels(const Extents& chunk, Dtype dtype, int bits, unsigned seed) {
  std::mt19937_64 random(seed);
  const index_t count = element_count(chunk), size = size_bytes(dtype);
  zarr::Bytes bytes(static_cast<std::size_t>(count * size));
  for (index_t i = 0; i < count; ++i) {
    const std::uint64_t value = (random() & ((std::uint64_t{1} << bits) - 1)) * 0x9e3779b97f4a7c15U;
    const auto low = static_cast<std::uint32_t>(value);
    std::memcpy(bytes.data() + i * size, size == 4 ? static_cast<const void*>(&low) : &value,
                static_cast<std::size_t>(size));
  }
  return bytes;
}

TEST(CompressedSegmentation, IsDecodedAsItWasEncoded) {
  for (const Dtype dtype : kDtypes)
    for (const Extents& chunk : {Extents{1, 1, 1}, Extents{8, 8, 8}, Extents{33, 17, 9}, Extents{5, 20, 11, 3}})
      for (const Extents& block : {Extents{8, 8, 8}, Extents{3, 5, 7}, Extents{64, 32, 16}})
        for (const int bits : {0, 1, 2, 4, 5, 8, 11, 17}) {
          const auto wanted = labels(chunk, dtype, bits, 7);
          const auto encoded = encode_segmentation(wanted, chunk, block, dtype, "f");
          EXPECT_LE(static_cast<index_t>(encoded.size()), most_segmentation(chunk, block, dtype));
          EXPECT_EQ(decode_segmentation(encoded, chunk, block, dtype, "f"), wanted)
              << to_string(chunk) << " " << to_string(block) << " " << bits;
        }
}

zarr::Bytes bytes_of(const std::vector<std::uint32_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

// Callers add what the decoded chunk takes.
TEST(CompressedSegmentation, TheMostBytesOfAChunkLeaveRoomToAdd) {
  constexpr index_t all = std::numeric_limits<index_t>::max(), side = (index_t{1} << 59) - 1;
  EXPECT_LE(most_segmentation({side, 1, 1}, {1, 1, 1}, Dtype::u32), all - side * 4);
  EXPECT_LE(most_segmentation({1, 1, 1, side}, {4, 4, 4}, Dtype::u64), all - side * 8);
  EXPECT_EQ(most_segmentation({5, 4, 3, 2}, {4, 2, 2}, Dtype::u32), 2 * 4 + 2 * 8 * (8 + 16 * 8));
}

// Two minishards with indexes of zeros, in a file that takes no room.
TEST(PrecomputedShards, IndexesThatAreKeptAreBounded) {
  constexpr std::uint64_t head = 32, chunks = (std::uint64_t{1} << 21) + 1, index = 24 * chunks;
  const Scratch scratch;
  const std::string shard = scratch.path("0.shard");
  const std::array<std::uint64_t, 4> places{0, index, 0, index};
  static_assert(sizeof places == head);
  write_text(shard, {reinterpret_cast<const char*>(places.data()), sizeof places});
  std::filesystem::resize_file(shard, head + index);
  ShardReader reader(std::filesystem::path(shard).parent_path().string(), {.minishard_bits = 1}, index_t{1} << 22);
  std::string file;
  EXPECT_EQ(reader.read(2, 8, file), std::nullopt);
  EXPECT_EQ(reader.kept(), chunks);
  EXPECT_EQ(reader.read(1, 8, file), std::nullopt);
  EXPECT_EQ(reader.kept(), chunks);
}

TEST(CompressedSegmentation, AnExample) {
  if (std::endian::native != std::endian::little) GTEST_SKIP() << "written for little endian machines";
  // One channel at word 1; a header; a number of one bit for each of 2x2x1 voxels; a table.
  const std::vector<std::uint32_t> words{1, 3 | 1U << 24, 2, 0b0110, 70, 90};
  const Extents chunk{2, 2, 1};
  const auto wanted = bytes_of({70, 90, 90, 70});
  EXPECT_EQ(decode_segmentation(bytes_of(words), chunk, chunk, Dtype::u32, "f"), wanted);
  EXPECT_EQ(encode_segmentation(wanted, chunk, chunk, Dtype::u32, "f"), bytes_of(words));
  // With the wider block the second row begins at number 4.
  const std::vector<std::uint32_t> wide{1, 3 | 1U << 24, 2, 0b010010, 70, 90};
  EXPECT_EQ(decode_segmentation(bytes_of(wide), chunk, {4, 2, 1}, Dtype::u32, "f"), wanted);
}

TEST(CompressedSegmentation, DamagedBytesAreRefused) {
  if (std::endian::native != std::endian::little) GTEST_SKIP() << "written for little endian machines";
  const Extents chunk{2, 2, 1};
  const auto error = [&](std::vector<std::uint32_t> words, Dtype dtype = Dtype::u32) {
    return error_of([&] { decode_segmentation(bytes_of(words), chunk, chunk, dtype, "f"); });
  };
  const std::string damaged = "f: compressed_segmentation: the data are damaged: ";
  EXPECT_EQ(error({}), damaged + "a channel's place would be at word 0 of 0");
  EXPECT_EQ(error({9, 0, 0}), damaged + "a block's header would be at word 9 of 3");
  EXPECT_EQ(error({~0U, 0, 0}), damaged + "a block's header would be at word 4294967295 of 3");
  EXPECT_EQ(error({1, 3 | 3U << 24, 2, 0, 70, 90}),
            damaged + "a block of 3 bits for each voxel; allowed: 0, 1, 2, 4, 8, 16, 32");
  EXPECT_EQ(error({1, 3 | 1U << 24, 5, 0, 70, 90}), damaged + "a block's numbers would be at word 6 of 6");
  EXPECT_EQ(error({1, 3 | 1U << 24, 2, 0b0110, 70}), damaged + "a label would be at word 5 of 5");
  EXPECT_EQ(error({1, 3, 2, 0, 70}, Dtype::u64), damaged + "a label would be at word 5 of 5");
  const zarr::Bytes odd(7);
  EXPECT_EQ(error_of([&] { decode_segmentation(odd, chunk, chunk, Dtype::u32, "f"); }),
            damaged + "its size is no multiple of 4 bytes");
}

TEST(CompressedSegmentation, AnyBitThatIsWrongIsRefusedOrRead) {
  const Extents chunk{9, 6, 5}, block{4, 4, 4};
  std::mt19937 random(3);
  for (const Dtype dtype : kDtypes) {
    const auto whole = encode_segmentation(labels(chunk, dtype, 4, 5), chunk, block, dtype, "f");
    for (int i = 0; i < 2000; ++i) {
      auto bytes = whole;
      bytes[random() % bytes.size()] ^= std::byte{1} << (random() % 8);
      bytes.resize(bytes.size() - (i % 2) * 4 * (random() % 8));
      try {
        const auto made = decode_segmentation(bytes, chunk, block, dtype, "f");
        EXPECT_EQ(static_cast<index_t>(made.size()), element_count(chunk) * size_bytes(dtype));
      } catch (const Error& e) {
        EXPECT_TRUE(std::string_view(e.what()).starts_with("f: compressed_segmentation: "));
      }
    }
  }
}

}  // namespace
}  // namespace oriel::io::precomputed
