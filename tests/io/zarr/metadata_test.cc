// Metadata of Zarr arrays: what is read, what is refused, and what is written.
#include "io/zarr/metadata.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "io/zarr/json.h"
#include "io/zarr/types.h"
#include "support.h"

namespace oriel::io::zarr {
namespace {

using test::error_of;

Json zarray() {
  return {{"zarr_format", 2},
          {"shape", {7, 9}},
          {"chunks", {3, 4}},
          {"dtype", ">i2"},
          {"order", "F"},
          {"filters", nullptr},
          {"compressor", {{"id", "zstd"}, {"level", 1}}},
          {"fill_value", -5}};
}
Json zarr_json() {
  return {{"zarr_format", 3},
          {"node_type", "array"},
          {"shape", {7, 9}},
          {"data_type", "float32"},
          {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", {6, 4}}}}}},
          {"chunk_key_encoding", {{"name", "default"}}},
          {"fill_value", "NaN"},
          {"codecs", Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}})}};
}
Json shard(const Json& chunk) {
  return {{"name", "sharding_indexed"},
          {"configuration",
           {{"chunk_shape", chunk},
            {"codecs", Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "big"}}}}, "gzip"})},
            {"index_codecs", Json::array({{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}, "crc32c"})},
            {"index_location", "start"}}}};
}
std::string error_with(Json root, const char* key, const Json& value) {
  root[key] = value;
  return error_of(
      [&] { root["zarr_format"] == 2 ? parse_zarray(root.dump(), "f") : parse_zarr_json(root.dump(), "f"); });
}

TEST(ZarrMetadata, Version2) {
  const Metadata m = parse_zarray(zarray().dump(), "f");
  EXPECT_EQ(m.dtype, Dtype::i16);
  EXPECT_TRUE(m.big_endian);
  EXPECT_EQ(m.shape, (Extents{7, 9}));
  EXPECT_EQ(m.grid, (Extents{3, 4}));
  EXPECT_EQ(m.order, (Extents{1, 0}));
  ASSERT_EQ(m.codecs.size(), 1U);
  EXPECT_EQ(m.codecs[0].kind, Codec::Kind::zstd);
  EXPECT_EQ(m.key({2, 10}), "2.10");
  EXPECT_EQ(m.key({}), "0");
  std::int16_t fill = 0;
  std::memcpy(&fill, m.fill.data(), sizeof fill);
  EXPECT_EQ(fill, -5);
}

TEST(ZarrMetadata, Version3) {
  Json root = zarr_json();
  const Json transpose{{"name", "transpose"}, {"configuration", {{"order", {1, 0}}}}};
  root["codecs"].insert(root["codecs"].begin(), transpose);
  EXPECT_EQ(parse_zarr_json(root.dump(), "f").order, (Extents{1, 0}));
  root["codecs"].insert(root["codecs"].begin(), transpose);
  const Metadata m = parse_zarr_json(root.dump(), "f");
  EXPECT_EQ(m.order, (Extents{0, 1}));
  EXPECT_EQ(m.key({2, 10}), "c/2/10");
  EXPECT_EQ(m.key({}), "c");
  float fill = 0;
  std::memcpy(&fill, m.fill.data(), sizeof fill);
  EXPECT_TRUE(std::isnan(fill));
  EXPECT_FALSE(m.sharding.has_value());
}

TEST(ZarrMetadata, Shards) {
  Json root = zarr_json();
  root["codecs"] = Json::array({shard({2, 2})});
  const Metadata m = parse_zarr_json(root.dump(), "f");
  ASSERT_TRUE(m.sharding.has_value());
  EXPECT_EQ(m.chunk(), (Extents{2, 2}));
  EXPECT_EQ(m.chunks_of_shard(), 6);
  EXPECT_EQ(m.chunk_bytes(), 16);
  EXPECT_TRUE(m.big_endian);
  EXPECT_FALSE(m.sharding->index_at_end);
  EXPECT_FALSE(m.sharding->index_big_endian);
  EXPECT_EQ(error_with(zarr_json(), "codecs", Json::array({shard({4, 2})})),
            "f: sharding_indexed: chunk_shape 4x2; allowed: extents that divide the shard's, 6x4");
}

TEST(ZarrMetadata, RefusedOfVersion2) {
  EXPECT_EQ(error_with(zarray(), "compressor", {{"id", "quantum"}}),
            R"(f: compressor: {"id":"quantum"}; allowed: null, zlib, gzip, zstd, lz4, blosc)");
  EXPECT_EQ(error_with(zarray(), "filters", Json::array({{{"id", "delta"}}})),
            R"(f: filters: [{"id":"delta"}]; allowed: null)");
  EXPECT_EQ(error_with(zarray(), "order", "K"), R"(f: order: "K"; allowed: C, F)");
  EXPECT_EQ(error_with(zarray(), "fill_value", 40000), "f: fill_value: 40000; allowed: a value of int16");
  EXPECT_EQ(error_with(zarray(), "chunks", {3, 0}), "f: chunks: [3,0]; allowed: integers from 1");
  EXPECT_EQ(error_with(zarray(), "chunks", {3}), "f: chunks: [3]; allowed: a list of 2");
  EXPECT_NE(error_with(zarray(), "dtype", "<c8"), "");
  EXPECT_NE(error_with(zarray(), "dtype", "|i2"), "");
  EXPECT_NE(error_with(zarray(), "shape", Json::array({1e300, 2})), "");
  EXPECT_NE(error_with(zarray(), "shape", {index_t{1} << 40, index_t{1} << 40}), "");
  EXPECT_NE(error_with(zarray(), "chunks", {index_t{1} << 28, index_t{1} << 28}), "");
}

TEST(ZarrMetadata, RefusedOfVersion3) {
  const Json bytes = zarr_json()["codecs"][0];
  for (const Json& codecs :
       {Json::array(), Json::array({"gzip"}), Json::array({bytes, bytes}), Json::array({bytes, "lz4"}),
        Json::array({bytes, shard({2, 2})}), Json::array({shard({2, 2}), "gzip"}), Json::array({"bytes"}),
        Json("bytes"), Json::array({{{"name", "transpose"}, {"configuration", {{"order", {0, 0}}}}}, bytes})})
    EXPECT_NE(error_with(zarr_json(), "codecs", codecs), "") << codecs.dump();
  Json nested = shard({2, 2});
  nested["configuration"]["codecs"] = Json::array({shard({1, 1})});
  EXPECT_NE(error_with(zarr_json(), "codecs", Json::array({nested})), "");
  EXPECT_NE(error_with(zarr_json(), "fill_value", nullptr), "");
  EXPECT_NE(error_with(zarr_json(), "fill_value", "0x12"), "");
  EXPECT_NE(error_with(zarr_json(), "storage_transformers", Json::array({"x"})), "");
  EXPECT_NE(error_with(zarr_json(), "zarr_format", 4), "");
  EXPECT_EQ(error_with(zarr_json(), "tomorrow", {{"name", "x"}}),
            R"(f: unknown member: "tomorrow"; allowed: what Zarr 3.0 has)");
  Json root = zarr_json();
  root["tomorrow"] = {{"must_understand", false}};
  EXPECT_NO_THROW(parse_zarr_json(root.dump(), "f"));
}

TEST(ZarrMetadata, TextThatIsNoObject) {
  for (const std::string text : {"", "[]", "{", "{\"a\":}", "nul"})
    EXPECT_NE(error_of([&] { parse_zarray(text, "f"); }), "") << text;
  std::string deep = R"({"a":)" + std::string(100000, '[');
  EXPECT_EQ(error_of([&] { parse_zarr_json(deep, "f"); }), "f: the JSON is nested deeper than 64 levels");
}

TEST(ZarrMetadata, FillValues) {
  const auto bits = [](const Json& value) {
    std::uint32_t word = 0;
    std::memcpy(&word, parse_fill(value, Dtype::f32, "f").data(), sizeof word);
    return word;
  };
  EXPECT_EQ(bits("0x7fc00001"), 0x7fc00001U);
  EXPECT_EQ(bits("-Infinity"), 0xff800000U);
  EXPECT_EQ(bits(1), 0x3f800000U);
  EXPECT_EQ(bits(nullptr), 0U);
  EXPECT_EQ(parse_fill(18446744073709551615U, Dtype::u64, "f"), std::vector<std::byte>(8, std::byte{255}));
  EXPECT_EQ(parse_fill(true, Dtype::boolean, "f"), std::vector<std::byte>(1, std::byte{1}));
  EXPECT_EQ(parse_fill(3.0, Dtype::u8, "f"), std::vector<std::byte>(1, std::byte{3}));
  for (const Json& wrong : {Json(3.5), Json(256), Json(-1), Json("NaN"), Json(true)})
    EXPECT_NE(error_of([&] { parse_fill(wrong, Dtype::u8, "f"); }), "") << wrong.dump();
}

TEST(ZarrMetadata, WrittenAndRead) {
  Metadata m;
  for (const Dtype dtype : {Dtype::f64, Dtype::bf16, Dtype::u8, Dtype::boolean}) {
    m.dtype = dtype;
    m.shape = {7, 0, 9};
    m.grid = {3, 1, 4};
    m.codecs = {{.kind = Codec::Kind::zstd}};
    m.attributes = R"({"a":[1]})";
    m.dimension_names = R"(["z",null,"x"])";
    const Metadata read = parse_zarr_json(to_zarr_json(m, "max:…"), "f");
    EXPECT_EQ(read.dtype, dtype);
    EXPECT_EQ(read.shape, m.shape);
    EXPECT_EQ(read.grid, m.grid);
    EXPECT_EQ(read.fill, std::vector<std::byte>(static_cast<std::size_t>(size_bytes(dtype)), std::byte{0}));
    EXPECT_EQ(read.attributes, R"({"a":[1],"oriel_problem":"max:…"})");
    EXPECT_EQ(read.dimension_names, m.dimension_names);
  }
}

}  // namespace
}  // namespace oriel::io::zarr
