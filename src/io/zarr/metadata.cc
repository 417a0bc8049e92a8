#include "io/zarr/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/memory_bound.h"
#include "io/zarr/json.h"
#include "io/zarr/types.h"

namespace oriel::io::zarr {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 58;

// Throws unless the product can be counted, in bytes too.
std::uint64_t count(const Extents& extents, const char* what, const std::string& file) {
  std::uint64_t product = 1;
  for (const index_t n : extents) {
    if (n == 0) return 0;
    if (static_cast<std::uint64_t>(n) > kMostElements / product)
      throw Error(fmt::format("{}: {}: {}; allowed: at most 2^58 elements", file, what, to_string(extents)));
    product *= static_cast<std::uint64_t>(n);
  }
  return product;
}

void check_sizes(const Metadata& m, const std::string& file) {
  count(m.shape, "shape", file);
  count(m.grid, "chunks", file);
  for (int d = 0; m.sharding && d < m.grid.size(); ++d)
    if (m.grid[d] % m.sharding->chunk[d] != 0)
      throw Error(fmt::format("{}: sharding_indexed: chunk_shape {}; allowed: extents that divide the shard's, {}",
                              file, to_string(m.sharding->chunk), to_string(m.grid)));
  check_memory(file, "a chunk", m.chunk_bytes());
  if (m.sharding) check_memory(file, "the index of a shard", 16 * m.chunks_of_shard());
}

Codec codec_of(std::string_view given, std::string_view key, const Json& value, bool v2, const std::string& file) {
  using enum Codec::Kind;
  for (const Codec::Kind kind : {gzip, zlib, zstd, lz4, blosc, crc32c}) {
    const bool other = v2 ? kind == crc32c : kind == zlib || kind == lz4;
    if (!other && name(kind) == given) return {.kind = kind, .compressor = kind == blosc ? "lz4" : ""};
  }
  refuse(file, key, value,
         v2 ? "null, zlib, gzip, zstd, lz4, blosc" : "transpose, bytes, sharding_indexed, gzip, zstd, blosc, crc32c");
}

bool is_big_endian(const Json& bytes, index_t size, const std::string& file) {
  const Json& endian = member(configuration_of(bytes), "endian");
  if (endian.is_null() && size == 1) return false;
  if (endian != "little" && endian != "big") refuse(file, "codecs: bytes: endian", endian, "little, big");
  return endian == "big";
}

// The axes that a transposition makes of those that `order` already lists.
Extents transposed(const Extents& order, const Json& transpose, const std::string& file) {
  const Extents by = extents_of(configuration_of(transpose), "order", order.size(), 0, file);
  Extents made, sorted = by;
  std::sort(sorted.begin(), sorted.end());
  for (int d = 0; d < by.size(); ++d) {
    if (sorted[d] != d) refuse(file, "codecs: transpose", transpose, "each axis once");
    made.push_back(order[static_cast<int>(by[d])]);
  }
  return made;
}

void read_codecs(Metadata& m, const Json& list, bool in_shard, const std::string& file);

void read_sharding(Metadata& m, const Json& codec, const std::string& file) {
  const Json& configuration = configuration_of(codec);
  Sharding sharding;
  sharding.chunk = extents_of(configuration, "chunk_shape", m.shape.size(), 1, file);
  const Json& place = member(configuration, "index_location");
  if (!place.is_null() && place != "start" && place != "end") refuse(file, "index_location", place, "start, end");
  sharding.index_at_end = place != "start";
  const Json& index = member(configuration, "index_codecs");
  const bool listed = index.is_array() && !index.empty() && index.size() <= 2;
  if (!listed || name_of(index[0], "index_codecs", file) != "bytes" ||
      (index.size() == 2 && name_of(index[1], "index_codecs", file) != "crc32c"))
    refuse(file, "index_codecs", index, "bytes, then crc32c or nothing");
  sharding.index_big_endian = is_big_endian(index[0], 8, file);
  sharding.index_checksum = index.size() == 2;
  m.sharding = sharding;
  read_codecs(m, member(configuration, "codecs"), true, file);
}

void read_codecs(Metadata& m, const Json& list, bool in_shard, const std::string& file) {
  constexpr std::size_t most = 16;
  if (!list.is_array() || list.empty() || list.size() > most)
    refuse(file, "codecs", list, fmt::format("a list of 1 to {} codecs", most));
  bool is_bytes = false;  // what the steps so far make of the chunk
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string given = name_of(list[i], "codecs", file);
    if (given == "transpose" && !is_bytes) {
      m.order = transposed(m.order, list[i], file);
    } else if (given == "bytes" && !is_bytes) {
      m.big_endian = is_big_endian(list[i], size_bytes(m.dtype), file);
      is_bytes = true;
    } else if (given == "sharding_indexed" && !in_shard) {
      if (list.size() != 1) refuse(file, "codecs", list, "no other codec beside sharding_indexed");
      return read_sharding(m, list[i], file);
    } else if (is_bytes) {
      m.codecs.push_back(codec_of(given, "codecs", list[i], false, file));
    } else {
      refuse(file, "codecs", list[i],
             in_shard ? "in a shard: transpose, then bytes, before others"
                      : "transpose, then bytes or sharding_indexed, before others");
    }
  }
  if (!is_bytes) refuse(file, "codecs", list, "bytes or sharding_indexed among them");
}

void read_keys(Metadata& m, const Json& encoding, const std::string& file) {
  const std::string given = name_of(encoding, "chunk_key_encoding", file);
  if (given != "default" && given != "v2") refuse(file, "chunk_key_encoding", encoding, "default, v2");
  m.keys_begin_with_c = given == "default";
  const Json& separator = member(configuration_of(encoding), "separator");
  if (!separator.is_null() && separator != "/" && separator != ".")
    refuse(file, "chunk_key_encoding: separator", separator, "\"/\", \".\"");
  m.separator = separator.is_null() ? (m.keys_begin_with_c ? '/' : '.') : separator.get<std::string>()[0];
}

// Version 3 says: what is not known must not be passed over, unless it says so.
void refuse_unknown(const Json& root, const std::string& file) {
  constexpr std::array<std::string_view, 12> known{"codecs",
                                                   "zarr_format",
                                                   "node_type",
                                                   "shape",
                                                   "data_type",
                                                   "chunk_grid",
                                                   "chunk_key_encoding",
                                                   "fill_value",
                                                   "attributes",
                                                   "dimension_names",
                                                   "storage_transformers",
                                                   "consolidated_metadata"};
  for (const auto& [key, value] : root.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (member(value, "must_understand") != false) refuse(file, "unknown member", key, "what Zarr 3.0 has");
  }
}

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::vector<index_t> list(const Extents& extents) { return {extents.begin(), extents.end()}; }

Json bytes_json(index_t size, bool big_endian) {
  Json bytes{{"name", "bytes"}};
  if (size > 1) bytes["configuration"] = {{"endian", big_endian ? "big" : "little"}};
  return bytes;
}

Json settings(const Codec& codec) {
  switch (codec.kind) {
    case Codec::Kind::gzip:
      return {{"level", codec.level}};
    case Codec::Kind::zstd:
      return {{"level", codec.level}, {"checksum", codec.checksum}};
    case Codec::Kind::blosc:
      return {{"cname", codec.compressor},
              {"clevel", codec.level},
              {"shuffle", codec.shuffle == 0   ? "noshuffle"
                          : codec.shuffle == 1 ? "shuffle"
                                               : "bitshuffle"},
              {"typesize", codec.element},
              {"blocksize", codec.block}};
    default:
      throw Error(fmt::format("zarr: {} is not written", name(codec.kind)));
  }
}

// The same in the words of version 2.
Json compressor_json(const Metadata& m) {
  if (m.codecs.empty()) return {};
  const Codec& codec = m.codecs.front();
  Json json = settings(codec);
  json["id"] = name(codec.kind);
  if (codec.kind == Codec::Kind::zstd) json.erase("checksum");  // which TensorStore refuses; there is none
  if (codec.kind != Codec::Kind::blosc) return json;
  json["shuffle"] = codec.shuffle;
  json.erase("typesize");
  return json;
}

Json attributes_json(const Metadata& m, const std::string& problem) {
  Json attributes = m.attributes.empty() ? Json::object() : Json::parse(m.attributes);
  if (!problem.empty()) attributes["oriel_problem"] = problem;
  return attributes;
}

constexpr int kIndent = 2;

Json codecs_json(const Metadata& m) {
  Json codecs = Json::array({bytes_json(size_bytes(m.dtype), m.big_endian)});
  for (const Codec& codec : m.codecs)
    codecs.push_back({{"name", name(codec.kind)}, {"configuration", settings(codec)}});
  return codecs;
}

Json sharding_json(const Metadata& m) {
  const Sharding& sharding = *m.sharding;
  Json index = Json::array({bytes_json(sizeof(std::uint64_t), sharding.index_big_endian)});
  if (sharding.index_checksum) index.push_back({{"name", "crc32c"}});
  return {{"name", "sharding_indexed"},
          {"configuration",
           {{"chunk_shape", list(sharding.chunk)},
            {"codecs", codecs_json(m)},
            {"index_codecs", index},
            {"index_location", sharding.index_at_end ? "end" : "start"}}}};
}

Extents axes(int rank, bool reversed) {
  Extents order;
  for (int d = 0; d < rank; ++d) order.push_back(reversed ? rank - 1 - d : d);
  return order;
}

}  // namespace

index_t Metadata::chunk_bytes() const {
  index_t bytes = size_bytes(dtype);
  for (const index_t n : chunk()) bytes *= n;
  return bytes;
}

index_t Metadata::chunks_of_shard() const {
  index_t chunks = 1;
  for (int d = 0; d < grid.size(); ++d) chunks *= grid[d] / chunk()[d];
  return chunks;
}

std::string Metadata::key(const Extents& place) const {
  std::string key = keys_begin_with_c ? "c" : "";
  for (const index_t n : place) {
    if (!key.empty()) key += separator;
    key += std::to_string(n);
  }
  return key.empty() ? "0" : key;
}

Metadata parse_zarray(std::string_view text, const std::string& file) {
  const Json root = parse_object(text, file);
  if (member(root, "zarr_format") != 2) refuse(file, "zarr_format", member(root, "zarr_format"), "2");
  Metadata m;
  m.version = 2;
  m.keys_begin_with_c = false;
  const StoredType type = parse_typestr(member(root, "dtype"), file);
  m.dtype = type.dtype;
  m.big_endian = type.big_endian;
  m.shape = extents_of(root, "shape", -1, 0, file);
  m.grid = extents_of(root, "chunks", m.shape.size(), 1, file);
  const Json& order = member(root, "order");
  if (order != "C" && order != "F") refuse(file, "order", order, "C, F");
  m.order = axes(m.shape.size(), order == "F");
  m.fill = parse_fill(member(root, "fill_value"), m.dtype, file);
  const Json& filters = member(root, "filters");
  if (!filters.is_null() && filters != Json::array()) refuse(file, "filters", filters, "null");
  const Json& compressor = member(root, "compressor");
  if (!compressor.is_null())
    m.codecs.push_back(codec_of(text_of(compressor, "id", file), "compressor", compressor, true, file));
  const Json& separator = member(root, "dimension_separator");
  if (!separator.is_null() && separator != "." && separator != "/")
    refuse(file, "dimension_separator", separator, "\".\", \"/\"");
  m.separator = separator == "/" ? '/' : '.';
  check_sizes(m, file);
  return m;
}

Metadata parse_zarr_json(std::string_view text, const std::string& file) {
  const Json root = parse_object(text, file);
  if (member(root, "zarr_format") != 3) refuse(file, "zarr_format", member(root, "zarr_format"), "3");
  if (member(root, "node_type") != "array") refuse(file, "node_type", member(root, "node_type"), "array");
  refuse_unknown(root, file);
  const Json& transformers = member(root, "storage_transformers");
  if (!transformers.is_null() && transformers != Json::array())
    refuse(file, "storage_transformers", transformers, "none");
  Metadata m;
  m.dtype = parse_type_name(member(root, "data_type"), file);
  m.shape = extents_of(root, "shape", -1, 0, file);
  const Json& grid = member(root, "chunk_grid");
  if (name_of(grid, "chunk_grid", file) != "regular") refuse(file, "chunk_grid", grid, "regular");
  m.grid = extents_of(configuration_of(grid), "chunk_shape", m.shape.size(), 1, file);
  m.order = axes(m.shape.size(), false);
  read_keys(m, member(root, "chunk_key_encoding"), file);
  if (member(root, "fill_value").is_null()) refuse(file, "fill_value", Json(), "a value of the array's type");
  m.fill = parse_fill(member(root, "fill_value"), m.dtype, file);
  read_codecs(m, member(root, "codecs"), false, file);
  if (member(root, "attributes").is_object()) m.attributes = dump(member(root, "attributes"));
  const Json& names = member(root, "dimension_names");
  if (names.is_array() && names.size() == static_cast<std::size_t>(m.shape.size())) m.dimension_names = dump(names);
  check_sizes(m, file);
  return m;
}

bool is_group(std::string_view text, const std::string& file) {
  const Json root = parse_object(text, file);
  const Json& type = member(root, "node_type");
  if (type != "array" && type != "group") refuse(file, "node_type", type, "array, group");
  return type == "group";
}

std::string to_zarr_json(const Metadata& m, const std::string& problem) {
  Json root{{"zarr_format", 3},
            {"node_type", "array"},
            {"shape", list(m.shape)},
            {"data_type", type_name(m.dtype)},
            {"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", list(m.grid)}}}}},
            {"chunk_key_encoding", {{"name", "default"}, {"configuration", {{"separator", "/"}}}}},
            {"codecs", m.sharding ? Json::array({sharding_json(m)}) : codecs_json(m)}};
  root["fill_value"] = fill_json(m.fill, m.dtype);
  root["attributes"] = attributes_json(m, problem);
  if (!m.dimension_names.empty()) root["dimension_names"] = Json::parse(m.dimension_names);
  return root.dump(kIndent) + "\n";
}

std::string to_zarray(const Metadata& m) {
  const Json root{{"zarr_format", 2},
                  {"shape", list(m.shape)},
                  {"chunks", list(m.grid)},
                  {"dtype", typestr(m.dtype)},
                  {"compressor", compressor_json(m)},
                  {"fill_value", fill_json(m.fill, m.dtype)},
                  {"order", "C"},
                  {"filters", nullptr},
                  {"dimension_separator", std::string(1, m.separator)}};
  return root.dump(kIndent) + "\n";
}

std::string to_zattrs(const Metadata& m, const std::string& problem) {
  Json attributes = attributes_json(m, problem);
  if (!m.dimension_names.empty()) attributes["_ARRAY_DIMENSIONS"] = Json::parse(m.dimension_names);
  return attributes.dump(kIndent) + "\n";
}

}  // namespace oriel::io::zarr
