#include "io/precomputed/volume_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "byte_order.h"
#include "io/chunk_cache.h"
#include "io/memory_bound.h"
#include "io/precomputed/segmentation.h"
#include "io/zarr/store.h"
#include "quoted.h"

namespace oriel::io {
namespace precomputed {
namespace {

namespace fs = std::filesystem;
using zarr::Bytes;

constexpr const char* kInfo = "/info";
constexpr std::string_view kEnding = ".precomputed";

Info read_info(const PrecomputedPath& path, std::optional<Dtype> asked) {
  const std::string file = path.folder + kInfo;
  const auto text = zarr::read_text_file(file, kMostInfo);
  std::error_code none;
  if (!text && !fs::exists(path.folder, none))
    throw Error(fmt::format("{}: cannot open: No such file or directory", path.folder));
  if (!text) throw Error(fmt::format("{}: not a precomputed volume; allowed: a folder with info", path.folder));
  Info info = parse_info(*text, path.key, file);
  if (asked && *asked != info.dtype)
    throw Error(
        fmt::format("{}: {} was asked for, but the volume is of {}", path.folder, name(*asked), name(info.dtype)));
  return info;
}

bool has_volume_info(const std::string& folder) {
  std::error_code none;
  if (!fs::is_regular_file(folder + kInfo, none)) return false;
  try {
    const auto text = zarr::read_text_file(folder + kInfo, kMostInfo);
    return text && is_volume_info(*text);
  } catch (const Error&) {
    return false;
  }
}

bool is_folder(const std::string& folder) { return folder.ends_with(kEnding) || has_volume_info(folder); }

index_t most_bytes(const Info& info, const Extents& extents) {
  if (info.scale.encoding == Encoding::raw) return element_count(extents) * size_bytes(info.dtype);
  return most_segmentation(extents, info.scale.block, info.dtype);
}

// A chunk that is there in a form that is not read must not count as missing.
void refuse_compressed(const std::string& file) {
  constexpr std::array<const char*, 5> endings{".br", ".zstd", ".zst", ".xz", ".bz2"};
  std::error_code none;
  for (const char* const ending : endings)
    if (fs::exists(file + ending, none))
      throw Error(fmt::format("{}{}: a compressed chunk; allowed: none, or .gz", file, ending));
}

template <class T>
T part_of(T t, const Extents& begin, const Extents& shape) {
  t.data = static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(t.data))) +
           zarr::offset(begin, t.pitch) * size_bytes(t.dtype);
  t.shape = shape;
  return t;
}

}  // namespace

PrecomputedIn::PrecomputedIn(const PrecomputedPath& path, std::optional<Dtype> asked) : info_(read_info(path, asked)) {
  chunks_ = path.folder + "/" + info_.scale.key;
  dtype = info_.dtype;
  shape = info_.shape();
  chunk = info_.chunk();
  part = info_.scale.key;
  for (int d = 0; d < shape.size(); ++d) order.push_back(d);
  if (info_.scale.sharding) shards_.emplace(chunks_, *info_.scale.sharding, element_count(info_.grid()));
  check_memory(path.folder, "a chunk", most_bytes(info_, chunk) + element_count(chunk) * size_bytes(dtype));
}

// The bytes of a chunk, and the file that they are in.
std::optional<Bytes> PrecomputedIn::read_encoded(const Extents& place, std::size_t most, std::string& file) {
  if (shards_) {
    Extents at;  // without channels
    for (int d = 0; d < kSpace; ++d) at.push_back(place[d]);
    return shards_->read(chunk_number(info_.grid(), at), most, file);
  }
  file = chunks_ + "/" + info_.chunk_name(place);
  std::optional<Bytes> bytes = zarr::read_file(file, most);
  if (bytes) return bytes;
  const std::optional<Bytes> packed = zarr::read_file(file + ".gz", zarr::most_encoded(most));
  if (!packed) return refuse_compressed(file), std::nullopt;
  file += ".gz";
  return zarr::decode(zarr::Codec{.kind = zarr::Codec::Kind::gzip}, *packed, most, file);
}

std::optional<Bytes> PrecomputedIn::read_chunk(const Extents& place, const Extents& extents) {
  std::string file;
  const auto most = static_cast<std::size_t>(most_bytes(info_, extents));
  std::optional<Bytes> bytes = read_encoded(place, most, file);
  if (!bytes) return std::nullopt;
  if (info_.scale.encoding == Encoding::compressed_segmentation)
    return decode_segmentation(*bytes, extents, info_.scale.block, dtype, file);
  if (bytes->size() != most)
    throw Error(fmt::format("{}: the chunk has {} bytes; allowed: {}, what info says", file, bytes->size(), most));
  if (detail::kBigEndian) detail::reverse_bytes(bytes->data(), element_count(extents), size_bytes(dtype));
  return bytes;
}

void PrecomputedIn::read(const Extents& begin, const Tensor& to) {
  Extents reversed;
  for (int d = shape.size(); d-- > 0;) reversed.push_back(d);
  const std::array<std::byte, sizeof(std::uint64_t)> zero{};
  for_each_chunk(chunk, begin, to.shape, [&](const Extents& place) {
    Extents first, extents;
    for (int d = 0; d < place.size(); ++d) {
      first.push_back(place[d] * chunk[d]);
      extents.push_back(std::min(chunk[d], shape[d] - first[d]));
    }
    const zarr::Overlap o = zarr::overlap(first, extents, begin, to.shape);
    const std::optional<Bytes> bytes = read_chunk(place, extents);
    const ConstTensor from(bytes ? bytes->data() : zero.data(), dtype, extents,
                           bytes ? dense_pitch(extents, reversed) : Extents::filled(extents.size(), 0));
    zarr::copy_box(part_of(from, o.in_chunk, o.shape), part_of(to, o.in_box, o.shape));
  });
}

}  // namespace precomputed

std::optional<PrecomputedPath> split_precomputed_path(const std::string& path) {
  const std::string folder = zarr::without_slashes(path);
  if (precomputed::is_folder(folder)) return PrecomputedPath{folder, ""};
  for (std::size_t at = path.rfind(':'); at != std::string::npos && at > 0; at = path.rfind(':', at - 1)) {
    const std::string before = zarr::without_slashes(path.substr(0, at));
    if (precomputed::is_folder(before)) return PrecomputedPath{before, path.substr(at + 1)};
  }
  return std::nullopt;
}

bool is_precomputed(const std::string& path) { return split_precomputed_path(path).has_value(); }

std::unique_ptr<VolumeIn> open_precomputed_volume(const std::string& path, std::optional<Dtype> asked) {
  return std::make_unique<precomputed::PrecomputedIn>(*split_precomputed_path(path), asked);
}

std::optional<PrecomputedSpace> precomputed_space(const VolumeIn& in) {
  const auto* const volume = dynamic_cast<const precomputed::PrecomputedIn*>(&in);
  if (volume == nullptr) return std::nullopt;
  PrecomputedSpace space{
      .resolution = volume->info().scale.resolution, .offset = {}, .segmentation = volume->info().segmentation};
  for (int d = 0; d < precomputed::kSpace; ++d)
    space.offset[static_cast<std::size_t>(d)] = volume->info().scale.offset[d];
  return space;
}

}  // namespace oriel::io
