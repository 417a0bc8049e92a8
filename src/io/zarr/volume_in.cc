#include "io/zarr/volume_in.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "byte_order.h"
#include "io/chunk_cache.h"
#include "io/zarr/json.h"
#include "io/zarr/store.h"
#include "io/zarr/volume.h"
#include "quoted.h"

namespace oriel::io {
namespace zarr {
namespace {

namespace fs = std::filesystem;

constexpr const char* kZarrJson = "/zarr.json";
constexpr const char* kZarray = "/.zarray";
constexpr const char* kZgroup = "/.zgroup";
constexpr const char* kZattrs = "/.zattrs";

bool exists(const std::string& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

// Also of what cannot be read or is no file, so that reading it says so: it must not count as missing.
bool is_there(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool holds_array(const std::string& folder) {
  if (const auto text = read_text_file(folder + kZarrJson, kMostMetadata)) return !is_group(*text, folder + kZarrJson);
  return exists(folder + kZarray);
}

// Arrays of a group and the groups in it, as paths.
void find_arrays(const std::string& folder, int depth, std::vector<std::string>& found) {
  constexpr std::size_t most = 20;
  std::vector<std::string> inner;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.is_directory(none)) inner.push_back(entry.path().string());
  std::sort(inner.begin(), inner.end());
  for (const std::string& path : inner) {
    if (found.size() > most) return;
    if (!exists(path + kZarrJson) && !exists(path + kZarray) && !exists(path + kZgroup)) continue;
    if (holds_array(path)) {
      found.push_back(detail::printable(path));
    } else if (depth > 0) {
      find_arrays(path, depth - 1, found);
    }
  }
  if (found.size() > most) {
    found.resize(most);
    found.emplace_back("…");
  }
}

[[noreturn]] void refuse_group(const std::string& folder) {
  constexpr int deepest = 4;
  std::vector<std::string> found;
  find_arrays(folder, deepest, found);
  if (found.empty()) throw Error(fmt::format("{}: a Zarr group without arrays; allowed: an array", folder));
  throw Error(fmt::format("{}: a Zarr group; allowed: one of its arrays: {}", folder, fmt::join(found, ", ")));
}

Metadata read_metadata(const std::string& folder) {
  const std::string file = folder + kZarrJson;
  if (const auto text = read_text_file(file, kMostMetadata)) {
    if (is_group(*text, file)) refuse_group(folder);
    return parse_zarr_json(*text, file);
  }
  if (const auto text = read_text_file(folder + kZarray, kMostMetadata)) {
    Metadata m = parse_zarray(*text, folder + kZarray);
    if (auto attributes = read_text_file(folder + kZattrs, kMostMetadata)) m.attributes = std::move(*attributes);
    return m;
  }
  if (exists(folder + kZgroup)) refuse_group(folder);
  std::error_code none;
  if (!fs::exists(folder, none)) throw Error(fmt::format("{}: cannot open: No such file or directory", folder));
  throw Error(fmt::format("{}: not a Zarr array; allowed: a folder with .zarray or zarr.json", folder));
}

template <class T>
T part_of(T t, const Extents& begin, const Extents& shape) {
  t.data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(t.data))) +
           offset(begin, t.pitch) * size_bytes(t.dtype);
  t.shape = shape;
  return t;
}

}  // namespace

ZarrIn::ZarrIn(const std::string& path, std::optional<Dtype> asked)
    : folder_(without_slashes(path)), metadata_(read_metadata(folder_)) {
  if (asked && *asked != metadata_.dtype)
    throw Error(fmt::format("{}: {} was asked for, but the array is of {}", folder_, oriel::name(*asked),
                            oriel::name(metadata_.dtype)));
  dtype = metadata_.dtype;
  shape = metadata_.shape;
  fill = metadata_.fill;
  for (int d = 0; d < shape.size(); ++d) {
    order.push_back(d);
    chunk.push_back(std::min(metadata_.chunk()[d], std::max<index_t>(shape[d], 1)));
  }
}

std::string ZarrIn::attributes() const {
  // Those of version 3 were read with the metadata.
  if (metadata_.version == 2 && !metadata_.attributes.empty())
    return parse_object(metadata_.attributes, folder_ + kZattrs).dump();
  return metadata_.attributes;
}

const ShardEntry& ZarrIn::entry_of(const StoreFile& shard, const Extents& in_grid, index_t chunk_number) {
  constexpr std::size_t most = 64;
  const std::string key = metadata_.key(in_grid);
  auto at = indexes_.find(key);
  if (at == indexes_.end()) {
    if (indexes_.size() >= most) indexes_.clear();
    at = indexes_.emplace(key, read_index(shard, *metadata_.sharding, metadata_.chunks_of_shard())).first;
  }
  return at->second[static_cast<std::size_t>(chunk_number)];
}

std::pair<Extents, index_t> ZarrIn::in_shard(const Extents& place) const {
  Extents in_grid;
  index_t number = 0;
  for (int d = 0; d < place.size(); ++d) {
    const index_t chunks = metadata_.grid[d] / metadata_.chunk()[d];
    in_grid.push_back(place[d] / chunks);
    number = number * chunks + place[d] % chunks;
  }
  return {in_grid, number};
}

bool ZarrIn::has_chunk(const Extents& place) {
  if (!metadata_.sharding) return is_there(folder_ + "/" + metadata_.key(place));
  const auto [in_grid, number] = in_shard(place);
  const std::optional<StoreFile> shard = StoreFile::open(folder_ + "/" + metadata_.key(in_grid));
  return shard && entry_of(*shard, in_grid, number).there();
}

bool ZarrIn::is_uniform(const Extents& begin, const Extents& box, void* element) {
  bool all_missing = true;
  for_each_chunk(metadata_.chunk(), begin, box,
                 [&](const Extents& place) { all_missing = all_missing && !has_chunk(place); });
  if (all_missing) std::memcpy(element, metadata_.fill.data(), metadata_.fill.size());
  return all_missing;
}

std::optional<Bytes> ZarrIn::read_encoded(const Extents& place, std::string& file) {
  const std::size_t most = most_encoded(static_cast<std::size_t>(metadata_.chunk_bytes())) +
                           (std::size_t{1} << 16) * metadata_.codecs.size();
  if (!metadata_.sharding) {
    file = folder_ + "/" + metadata_.key(place);
    return read_file(file, most);
  }
  const auto [in_grid, number] = in_shard(place);
  file = folder_ + "/" + metadata_.key(in_grid);
  const std::optional<StoreFile> shard = StoreFile::open(file);
  if (!shard) return std::nullopt;
  const ShardEntry& entry = entry_of(*shard, in_grid, number);
  if (!entry.there()) return std::nullopt;
  if (entry.count > most)
    throw Error(fmt::format("{}: chunk {} has {} bytes; allowed: at most {}", file, number, entry.count, most));
  return shard->read(entry.begin, entry.count);
}

std::optional<Bytes> ZarrIn::read_chunk(const Extents& place) {
  std::string file;
  std::optional<Bytes> encoded = read_encoded(place, file);
  if (!encoded) return std::nullopt;
  const auto size = static_cast<std::size_t>(metadata_.chunk_bytes());
  Bytes bytes = decode(metadata_.codecs, std::move(*encoded), size, file);
  if (metadata_.big_endian != detail::kBigEndian) {
    const index_t element = size_bytes(dtype);
    detail::reverse_bytes(bytes.data(), metadata_.chunk_bytes() / element, element);
  }
  return bytes;
}

void ZarrIn::read(const Extents& begin, const Tensor& to) {
  const Extents& extents = metadata_.chunk();
  const Extents pitch = dense_pitch(extents, metadata_.order), none = Extents::filled(extents.size(), 0);
  for_each_chunk(extents, begin, to.shape, [&](const Extents& place) {
    Extents first;
    for (int d = 0; d < place.size(); ++d) first.push_back(place[d] * extents[d]);
    const Overlap o = overlap(first, extents, begin, to.shape);
    const std::optional<Bytes> bytes = read_chunk(place);
    const ConstTensor from(bytes ? bytes->data() : metadata_.fill.data(), dtype, extents, bytes ? pitch : none);
    copy_box(part_of(from, o.in_chunk, o.shape), part_of(to, o.in_box, o.shape));
  });
}

}  // namespace zarr

bool is_zarr_array(const std::string& path) {
  try {
    return zarr::holds_array(zarr::without_slashes(path));
  } catch (const Error&) {
    return false;
  }
}

bool is_zarr(const std::string& path) {
  const std::string folder = zarr::without_slashes(path);
  return folder.ends_with(".zarr") || folder.find(".zarr/") != std::string::npos ||
         zarr::exists(folder + zarr::kZarray) || zarr::exists(folder + zarr::kZarrJson) ||
         zarr::exists(folder + zarr::kZgroup);
}

std::unique_ptr<VolumeIn> open_zarr_volume(const std::string& path, std::optional<Dtype> asked) {
  return std::make_unique<zarr::ZarrIn>(path, asked);
}

}  // namespace oriel::io
