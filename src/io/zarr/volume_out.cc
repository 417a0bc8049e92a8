#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "byte_order.h"
#include "io/chunk_cache.h"
#include "io/zarr/store.h"
#include "io/zarr/volume.h"
#include "io/zarr/volume_in.h"

namespace oriel::io {
namespace zarr {
namespace {

namespace fs = std::filesystem;

// Chunks that were written in parts, as they are in memory; `complete` compresses them.
constexpr const char* kParts = "/.parts";

// Chunks of at most 1 MiB: the longest axis is halved until they are.
Extents default_chunk(const Extents& shape, Dtype dtype) {
  constexpr index_t most = index_t{1} << 20;
  Extents chunk;
  for (const index_t n : shape) chunk.push_back(std::max<index_t>(n, 1));
  for (;;) {
    index_t left = most / size_bytes(dtype);
    for (const index_t n : chunk) left /= n;
    if (left > 0) return chunk;
    index_t* const longest = std::max_element(chunk.begin(), chunk.end());
    *longest = (*longest + 1) / 2;
  }
}

// The same in every process.
Metadata metadata_of(const VolumeSpec& spec) {
  Metadata m;
  m.dtype = spec.dtype;
  m.shape = spec.shape;
  m.grid = spec.chunk.empty() ? default_chunk(spec.shape, spec.dtype) : spec.chunk;
  for (int d = 0; d < m.grid.size(); ++d) {
    m.grid[d] = std::max<index_t>(m.grid[d], 1);
    m.order.push_back(d);
  }
  m.fill = Bytes(static_cast<std::size_t>(size_bytes(m.dtype)));
  m.codecs = {{.kind = Codec::Kind::zstd, .level = 1}};
  if (const auto* const like = dynamic_cast<const ZarrIn*>(spec.like)) {
    m.attributes = like->metadata().attributes;
    if (like->metadata().shape.size() == m.shape.size()) m.dimension_names = like->metadata().dimension_names;
  }
  return m;
}

class ZarrOut : public VolumeOut {
 public:
  ZarrOut(std::string place, std::string name, const VolumeSpec& spec)
      : place_(std::move(place)), name_(std::move(name)), metadata_(metadata_of(spec)) {}

  void write(const Extents& begin, const ConstTensor& from) override {
    const Extents& grid = metadata_.grid;
    for_each_chunk(grid, begin, from.shape, [&](const Extents& place) {
      Extents first, there;
      for (int d = 0; d < place.size(); ++d) {
        first.push_back(place[d] * grid[d]);
        there.push_back(std::min(grid[d], metadata_.shape[d] - first[d]));
      }
      const Overlap o = overlap(first, grid, begin, from.shape);
      ConstTensor part = from;
      part.data = static_cast<const std::byte*>(from.data) + offset(o.in_box, from.pitch) * size_bytes(from.dtype);
      part.shape = o.shape;
      if (o.shape == there)
        write_whole(place, part);
      else
        write_part(place, o.in_chunk, part);
    });
  }
  void close() override {}

  /// Compresses a chunk, unless it has nothing but the fill value.
  void write_chunk(const std::string& key, Bytes bytes) const {
    // The fill value is zero in all bytes.
    if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; })) return;
    if (detail::kBigEndian) {
      const index_t element = size_bytes(metadata_.dtype);
      detail::reverse_bytes(bytes.data(), metadata_.chunk_bytes() / element, element);
    }
    write_file(place_ + "/" + key, encode(metadata_.codecs, std::move(bytes), name_), name_);
  }

  // Keys of parts have no folders.
  void complete() const {
    const fs::path parts = place_ + kParts;
    std::error_code none;
    if (!fs::exists(parts, none)) return;
    for (const auto& entry : fs::directory_iterator(parts)) {
      std::string key = entry.path().filename().string();
      std::replace(key.begin(), key.end(), '.', '/');
      std::optional<Bytes> bytes = read_file(entry.path().string(), static_cast<std::size_t>(metadata_.chunk_bytes()));
      if (bytes) write_chunk(key, std::move(*bytes));
      fs::remove(entry.path());
    }
    fs::remove_all(parts);
  }

  const Metadata& metadata() const { return metadata_; }

 private:
  void write_whole(const Extents& place, const ConstTensor& part) const {
    Bytes bytes(static_cast<std::size_t>(metadata_.chunk_bytes()));
    copy_box(part, Tensor(bytes.data(), part.dtype, part.shape, dense_pitch(metadata_.grid)));
    write_chunk(metadata_.key(place), std::move(bytes));
  }

  [[noreturn]] void fail() const { throw Error(fmt::format("{}: cannot write: {}", name_, std::strerror(errno))); }

  void put(int descriptor, const std::byte* from, index_t count, index_t at) const {
    for (index_t done = 0; done < count;) {
      const ssize_t put =
          ::pwrite(descriptor, from + done, static_cast<std::size_t>(count - done), static_cast<off_t>(at + done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) fail();
      done += put;
    }
  }

  void write_part(const Extents& place, const Extents& in_chunk, const ConstTensor& part) const {
    std::string key = metadata_.key(place);
    std::replace(key.begin(), key.end(), '/', '.');
    const std::string file = place_ + kParts + "/" + key;
    constexpr mode_t mode = 0666;
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    if (descriptor < 0) fail();
    const std::shared_ptr<void> guard(nullptr, [descriptor](void*) { ::close(descriptor); });
    if (::ftruncate(descriptor, metadata_.chunk_bytes()) != 0) fail();
    // Its box as one piece of memory.
    const index_t size = size_bytes(part.dtype);
    Bytes dense(static_cast<std::size_t>(element_count(part.shape) * size));
    copy_box(part, Tensor(dense.data(), part.dtype, part.shape));
    for_each_run(metadata_.grid, metadata_.order, in_chunk, part.shape, [&](index_t at, index_t in_box, index_t count) {
      put(descriptor, dense.data() + in_box * size, count * size, at * size);
    });
  }

  std::string place_, name_;
  Metadata metadata_;
};

}  // namespace
}  // namespace zarr

void create_zarr_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  const std::string text = zarr::to_zarr_json(zarr::metadata_of(spec), spec.problem);
  zarr::write_file(place + "/zarr.json", std::as_bytes(std::span(text)), path);
  std::error_code error;
  std::filesystem::create_directory(place + zarr::kParts, error);
  if (error) throw Error(fmt::format("{}: cannot write: {}", path, error.message()));
}

std::unique_ptr<VolumeOut> open_zarr_output(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  return std::make_unique<zarr::ZarrOut>(place, path, spec);
}

void complete_zarr_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  const zarr::ZarrOut out(place, path, spec);
  out.complete();
}

}  // namespace oriel::io
