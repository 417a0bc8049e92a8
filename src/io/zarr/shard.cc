#include "io/zarr/shard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "byte_order.h"

namespace oriel::io::zarr {
namespace {

constexpr std::size_t kNumber = sizeof(std::uint64_t), kEntry = 2 * kNumber, kChecksum = 4;
const Codec kCrc{.kind = Codec::Kind::crc32c};

bool is_swapped(const Sharding& sharding) { return sharding.index_big_endian != detail::kBigEndian; }

}  // namespace

std::size_t index_bytes(const Sharding& sharding, index_t chunks) {
  return static_cast<std::size_t>(chunks) * kEntry + (sharding.index_checksum ? kChecksum : 0);
}

ShardIndex parse_index(std::span<const std::byte> bytes, const Sharding& sharding, std::size_t size,
                       const std::string& file) {
  Bytes numbers(bytes.begin(), bytes.end());
  if (sharding.index_checksum) numbers = decode(kCrc, bytes, bytes.size(), file + ": the index of the shard");
  if (is_swapped(sharding))
    detail::reverse_bytes(numbers.data(), static_cast<index_t>(numbers.size() / kNumber), kNumber);
  ShardIndex index(numbers.size() / kEntry);
  for (std::size_t i = 0; i < index.size(); ++i) {
    ShardEntry& entry = index[i];
    std::memcpy(&entry.begin, numbers.data() + i * kEntry, kNumber);
    std::memcpy(&entry.count, numbers.data() + i * kEntry + kNumber, kNumber);
    if (entry.there() && (entry.begin > size || entry.count > size - entry.begin))
      throw Error(fmt::format("{}: the index of the shard: chunk {} has {} bytes from byte {}; allowed: up to {}", file,
                              i, entry.count, entry.begin, size));
  }
  return index;
}

Bytes to_bytes(const ShardIndex& index, const Sharding& sharding) {
  Bytes bytes(index.size() * kEntry);
  for (std::size_t i = 0; i < index.size(); ++i) {
    std::memcpy(bytes.data() + i * kEntry, &index[i].begin, kNumber);
    std::memcpy(bytes.data() + i * kEntry + kNumber, &index[i].count, kNumber);
  }
  if (is_swapped(sharding)) detail::reverse_bytes(bytes.data(), static_cast<index_t>(2 * index.size()), kNumber);
  return sharding.index_checksum ? encode(kCrc, bytes, "index") : bytes;
}

ShardIndex read_index(const StoreFile& file, const Sharding& sharding, index_t chunks) {
  const std::size_t count = index_bytes(sharding, chunks);
  if (count > file.size())
    throw Error(fmt::format("{}: the shard is cut off: its index needs {} bytes, but there are {}", file.path(), count,
                            file.size()));
  const std::size_t at = sharding.index_at_end ? file.size() - count : 0;
  return parse_index(file.read(at, count), sharding, file.size(), file.path());
}

ShardWriter::ShardWriter(std::string place, std::string name, const Metadata& metadata)
    : place_(std::move(place)), name_(std::move(name)), sharding_(metadata.sharding.value()) {
  index_.resize(static_cast<std::size_t>(metadata.chunks_of_shard()));
}

ShardWriter::~ShardWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ShardWriter::append(index_t chunk, std::span<const std::byte> encoded) {
  ShardEntry& entry = index_.at(static_cast<std::size_t>(chunk));
  if (entry.there()) throw Error(fmt::format("{}: chunk {} of a shard is written twice", name_, chunk));
  if (descriptor_ < 0) create();
  write(encoded, end_);
  entry = {.begin = end_, .count = encoded.size()};
  end_ += encoded.size();
}

void ShardWriter::close() {
  if (descriptor_ < 0) return;
  write(to_bytes(index_, sharding_), sharding_.index_at_end ? end_ : 0);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void ShardWriter::create() {
  constexpr mode_t mode = 0666;
  make_folder(std::filesystem::path(place_).parent_path().string(), name_);
  descriptor_ = ::open(place_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (descriptor_ < 0) fail();
  // The index is written over this.
  if (!sharding_.index_at_end) end_ = index_bytes(sharding_, static_cast<index_t>(index_.size()));
}

void ShardWriter::write(std::span<const std::byte> bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    at += static_cast<std::uint64_t>(put);
  }
}

void ShardWriter::fail() const { throw Error(fmt::format("{}: cannot write: {}", name_, std::strerror(errno))); }

}  // namespace oriel::io::zarr
