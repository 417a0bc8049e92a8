#include "io/precomputed/info.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "io/zarr/json.h"
#include "quoted.h"

namespace oriel::io::precomputed {
namespace {

using zarr::extents_of;
using zarr::Json;
using zarr::member;
using zarr::refuse;
using zarr::text_of;

struct TypeName {
  Dtype dtype;
  std::string_view name;
};
constexpr std::array kTypes{TypeName{Dtype::u8, "uint8"},   TypeName{Dtype::i8, "int8"},
                            TypeName{Dtype::u16, "uint16"}, TypeName{Dtype::i16, "int16"},
                            TypeName{Dtype::u32, "uint32"}, TypeName{Dtype::i32, "int32"},
                            TypeName{Dtype::u64, "uint64"}, TypeName{Dtype::f32, "float32"}};
constexpr std::string_view kTypeKey = "@type", kVolumeType = "neuroglancer_multiscale_volume";
constexpr int kIndent = 2;  // of the text
constexpr index_t kMostOffset = index_t{1} << 60;

Dtype parse_type(const Json& root, const std::string& file) {
  const Json& value = member(root, "data_type");
  for (const TypeName& type : kTypes)
    if (value == type.name) return type.dtype;
  refuse(file, "data_type", value, "uint8 to uint64, int8 to int32, float32");
}

Extents parse_offset(const Json& scale, const std::string& file) {
  const Json& values = member(scale, "voxel_offset");
  if (values.is_null()) return Extents::filled(kSpace, 0);
  Extents offset;
  const auto fits = [](const Json& v) {
    return v.is_number_unsigned() ? v.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMostOffset)
                                  : v.is_number_integer() && v.get<index_t>() >= -kMostOffset;
  };
  if (!values.is_array() || values.size() != kSpace || !std::all_of(values.begin(), values.end(), fits))
    refuse(file, "voxel_offset", values, "3 integers from -2^60 to 2^60");
  for (const Json& value : values) offset.push_back(value.get<index_t>());
  return offset;
}

std::array<double, kSpace> parse_resolution(const Json& scale, const std::string& file) {
  const Json& values = member(scale, "resolution");
  const auto fits = [](const Json& v) {
    return v.is_number() && v.get<double>() > 0 && std::isfinite(v.get<double>());
  };
  if (!values.is_array() || values.size() != kSpace || !std::all_of(values.begin(), values.end(), fits))
    refuse(file, "resolution", values, "3 numbers > 0");
  return {values[0].get<double>(), values[1].get<double>(), values[2].get<double>()};
}

// Any of the sizes will do, as every chunk is stored in each; the first is taken.
Extents parse_chunk(const Json& scale, const std::string& file) {
  const Json& sizes = member(scale, "chunk_sizes");
  if (!sizes.is_array() || sizes.empty()) refuse(file, "chunk_sizes", sizes, "a list of sizes of chunks");
  return extents_of(Json{{"chunk_sizes", sizes[0]}}, "chunk_sizes", kSpace, 1, file);
}

void parse_encoding(Scale& s, const Json& scale, Dtype dtype, const std::string& file) {
  const Json& encoding = member(scale, "encoding");
  if (encoding == "raw") return;
  if (encoding != "compressed_segmentation") refuse(file, "encoding", encoding, "raw, compressed_segmentation");
  if (dtype != Dtype::u32 && dtype != Dtype::u64)
    refuse(file, "encoding", encoding, fmt::format("raw for {}", type_name(dtype)));
  s.encoding = Encoding::compressed_segmentation;
  const char* const key = "compressed_segmentation_block_size";
  s.block = extents_of(scale, key, kSpace, 1, file);
  constexpr index_t most = index_t{1} << 20;  // voxels
  index_t left = most;
  for (const index_t n : s.block) left /= n;
  if (left == 0) refuse(file, key, member(scale, key), "blocks of at most 2^20 voxels");
}

// Either of two words; the first if there is none.
bool is_second(const Json& sharding, const char* key, const char* first, const char* second, const std::string& file) {
  const Json& value = member(sharding, key);
  if (!value.is_null() && value != first && value != second)
    refuse(file, key, value, fmt::format("{}, {}", first, second));
  return value == second;
}

void parse_sharding(Scale& s, const Json& scale, const Extents& grid, const std::string& file) {
  constexpr std::string_view type = "neuroglancer_uint64_sharded_v1";
  constexpr index_t word = 64, most_minishards = 32;  // bits
  const Json& sharding = member(scale, "sharding");
  if (sharding.is_null()) return;
  if (!sharding.is_object() || member(sharding, kTypeKey.data()) != type)
    refuse(file, "sharding", sharding, fmt::format("@type {}", type));
  const auto bits = [&](const char* key, index_t most) {
    const index_t n = extents_of(Json{{key, Json::array({member(sharding, key)})}}, key, 1, 0, file)[0];
    if (n > most) refuse(file, key, member(sharding, key), fmt::format("0 to {}", most));
    return static_cast<int>(n);
  };
  Sharding made{.preshift_bits = bits("preshift_bits", word - 1),
                .minishard_bits = bits("minishard_bits", most_minishards),
                .shard_bits = bits("shard_bits", word)};
  if (made.minishard_bits + made.shard_bits > word)
    refuse(file, "shard_bits", member(sharding, "shard_bits"), fmt::format("at most {}", word - made.minishard_bits));
  made.murmur = is_second(sharding, "hash", "identity", "murmurhash3_x86_128", file);
  made.gzip_index = is_second(sharding, "minishard_index_encoding", "raw", "gzip", file);
  made.gzip_data = is_second(sharding, "data_encoding", "raw", "gzip", file);
  int number_bits = 0;
  for (const index_t n : grid)
    number_bits += static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<index_t>(n, 1) - 1)));
  if (number_bits > word)
    throw Error(
        fmt::format("{}: {} chunks are too many for shards; allowed: numbers of 64 bits", file, to_string(grid)));
  s.sharding = made;
}

std::string key_of(const Json& scale, const std::string& file) {
  std::string key = text_of(scale, "key", file);
  const bool control = std::any_of(key.begin(), key.end(), [](unsigned char c) { return c < ' '; });
  if (key.empty() || key.front() == '/' || control || key.find("://") != std::string::npos)
    refuse(file, "key", key, "a folder beside the file");
  return key;
}

const Json& find_scale(const Json& root, const std::string& key, const std::string& file) {
  const Json& scales = member(root, "scales");
  if (!scales.is_array() || scales.empty()) refuse(file, "scales", scales, "a list of scales");
  if (key.empty()) return scales[0];
  std::string keys;
  constexpr std::size_t most = 500;
  for (const Json& scale : scales) {
    const std::string other = key_of(scale, file);
    if (other == key) return scale;
    keys += (keys.empty() ? "" : ", ") + other;
  }
  throw Error(
      fmt::format("{}: has no scale {}; allowed: {}", file, detail::quoted(key), detail::shortened(keys, most)));
}

// Shapes, of chunks too, have counts of bytes.
void check_sizes(const Info& info, const std::string& file) {
  constexpr index_t most = index_t{1} << 62;
  for (const Extents& extents : {info.shape(), info.chunk()}) {
    index_t left = most / size_bytes(info.dtype);
    for (const index_t n : extents) left /= std::max<index_t>(n, 1);
    if (left == 0)
      throw Error(fmt::format("{}: {} voxels are too many; allowed: 2^62 bytes", file, to_string(extents)));
  }
  for (int d = 0; d < kSpace; ++d)
    if (info.scale.size[d] > kMostOffset)
      throw Error(fmt::format("{}: size: {}; allowed: at most 2^60", file, to_string(info.scale.size)));
}

template <class Values>
Json list(const Values& values) {
  Json all = Json::array();
  for (const auto& value : values) all.push_back(value);
  return all;
}

Json scale_json(const Scale& s) {
  Json scale{{"key", s.key},
             {"size", list(s.size)},
             {"voxel_offset", list(s.offset)},
             {"resolution", Json::array()},
             {"chunk_sizes", Json::array({list(s.chunk)})},
             {"encoding", s.encoding == Encoding::raw ? "raw" : "compressed_segmentation"}};
  constexpr double whole = 0x1p53;
  for (const double r : s.resolution)  // whole numbers as such
    scale["resolution"].push_back(r == std::trunc(r) && r < whole ? Json(static_cast<index_t>(r)) : Json(r));
  if (s.encoding != Encoding::raw) scale["compressed_segmentation_block_size"] = list(s.block);
  return scale;
}

Json info_json(std::span<const Info> scales) {
  Json root{{kTypeKey, kVolumeType},
            {"type", scales[0].segmentation ? "segmentation" : "image"},
            {"data_type", type_name(scales[0].dtype)},
            {"num_channels", scales[0].channels},
            {"scales", Json::array()}};
  for (const Info& info : scales) root["scales"].push_back(scale_json(info.scale));
  return root;
}

// 0: no volume, or one with meshes, skeletons or properties of segments.
std::size_t number_of_scales(std::string_view text) {
  try {
    const Json root = zarr::parse_object(text, "info");
    const Json& scales = member(root, "scales");
    const bool alone = member(root, "mesh").is_null() && member(root, "skeletons").is_null() &&
                       member(root, "segment_properties").is_null();
    return member(root, kTypeKey.data()) == kVolumeType && scales.is_array() && alone ? scales.size() : 0;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

Extents Info::shape() const {
  Extents shape = scale.size;
  if (channels > 1) shape.push_back(channels);
  return shape;
}

Extents Info::chunk() const {
  Extents chunk;
  for (int d = 0; d < kSpace; ++d) chunk.push_back(std::min(scale.chunk[d], std::max<index_t>(scale.size[d], 1)));
  if (channels > 1) chunk.push_back(channels);
  return chunk;
}

Extents Info::grid() const {
  Extents grid;
  const Extents extents = chunk();
  for (int d = 0; d < kSpace; ++d)
    grid.push_back(scale.size[d] / extents[d] + (scale.size[d] % extents[d] != 0 ? 1 : 0));
  return grid;
}

std::string Info::chunk_name(const Extents& place) const {
  std::string name;
  const Extents extents = chunk();
  for (int d = 0; d < kSpace; ++d) {
    const index_t begin = place[d] * extents[d], end = std::min(begin + extents[d], scale.size[d]);
    name += fmt::format("{}{}-{}", d > 0 ? "_" : "", scale.offset[d] + begin, scale.offset[d] + end);
  }
  return name;
}

Info parse_info(std::string_view text, const std::string& key, const std::string& file) {
  const Json root = zarr::parse_object(text, file);
  const Json& kind = member(root, kTypeKey.data());
  if (!kind.is_null() && kind != kVolumeType) refuse(file, kTypeKey, kind, kVolumeType);
  Info info;
  const std::string type = text_of(root, "type", file);
  if (type != "image" && type != "segmentation") refuse(file, "type", type, "image, segmentation");
  info.segmentation = type == "segmentation";
  info.dtype = parse_type(root, file);
  const Json& channels = member(root, "num_channels");
  info.channels = extents_of(Json{{"num_channels", Json::array({channels})}}, "num_channels", 1, 1, file)[0];
  const Json& scale = find_scale(root, key, file);
  Scale& s = info.scale;
  s.key = key_of(scale, file);
  s.size = extents_of(scale, "size", kSpace, 0, file);
  s.offset = parse_offset(scale, file);
  s.resolution = parse_resolution(scale, file);
  s.chunk = parse_chunk(scale, file);
  parse_encoding(s, scale, info.dtype, file);
  check_sizes(info, file);
  parse_sharding(s, scale, info.grid(), file);
  return info;
}

std::string to_json(const Info& info, const std::string& problem) {
  Json root = info_json({&info, 1});
  if (!problem.empty()) root["oriel_problem"] = problem;
  return root.dump(kIndent) + "\n";
}

std::string to_json(std::span<const Info> scales) { return info_json(scales).dump(kIndent) + "\n"; }

bool is_volume_info(std::string_view text) {
  try {
    return member(zarr::parse_object(text, "info"), kTypeKey.data()) == kVolumeType;
  } catch (const Error&) {
    return false;
  }
}

bool is_one_scale(std::string_view text) { return number_of_scales(text) == 1; }

bool is_scales_only(std::string_view text) { return number_of_scales(text) > 0; }

std::string type_name(Dtype dtype) {
  for (const TypeName& type : kTypes)
    if (type.dtype == dtype) return std::string(type.name);
  return "";
}

}  // namespace oriel::io::precomputed
