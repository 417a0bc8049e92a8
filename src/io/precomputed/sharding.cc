#include "io/precomputed/sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "byte_order.h"
#include "io/zarr/codec.h"

namespace oriel::io::precomputed {
namespace {

using zarr::Bytes;

constexpr std::size_t kNumber = sizeof(std::uint64_t);
constexpr std::size_t kMostChunks = std::size_t{1} << 22;  // of indexes that are kept

std::uint64_t number_at(const Bytes& bytes, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + at * kNumber, kNumber);
  return detail::little_endian(number);
}

Bytes unzipped(Bytes bytes, std::size_t most, const std::string& file) {
  return zarr::decode(zarr::Codec{.kind = zarr::Codec::Kind::gzip}, bytes, most, file);
}

std::uint64_t low_bits(std::uint64_t number, int bits) {
  return bits >= 64 ? number : number & ((std::uint64_t{1} << bits) - 1);
}

std::uint32_t mixed(std::uint32_t h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  return h ^ (h >> 16);
}

}  // namespace

std::uint64_t chunk_number(const Extents& grid, const Extents& place) {
  std::uint64_t number = 0;
  int taken = 0;
  for (int bit = 0; bit < 62; ++bit) {
    for (int d = 0; d < grid.size(); ++d) {
      if ((index_t{1} << bit) < grid[d]) number |= (static_cast<std::uint64_t>(place[d] >> bit) & 1U) << taken++;
    }
  }
  return number;
}

// Of 8 bytes there is no whole block, so the rest and the end of the algorithm are all there is.
std::uint64_t murmur_hash(std::uint64_t number) {
  constexpr std::uint32_t c1 = 0x239b961bU, c2 = 0xab0e9789U, c3 = 0x38b34ae5U;
  constexpr std::uint32_t length = 8;
  const auto low = static_cast<std::uint32_t>(number), high = static_cast<std::uint32_t>(number >> 32);
  std::uint32_t h1 = std::rotl(low * c1, 15) * c2, h2 = std::rotl(high * c2, 16) * c3, h3 = 0, h4 = 0;
  h1 ^= length, h2 ^= length, h3 ^= length, h4 ^= length;
  h1 += h2 + h3 + h4;
  h2 += h1, h3 += h1, h4 += h1;
  h1 = mixed(h1), h2 = mixed(h2), h3 = mixed(h3), h4 = mixed(h4);
  h1 += h2 + h3 + h4;
  h2 += h1;
  return h1 | static_cast<std::uint64_t>(h2) << 32;
}

ShardReader::ShardReader(std::string folder, const Sharding& sharding, index_t chunks)
    : folder_(std::move(folder)), sharding_(sharding) {
  most_index_ = 3 * kNumber * std::min(static_cast<std::size_t>(chunks), kMostChunks);
}

std::optional<Bytes> ShardReader::read(std::uint64_t chunk, std::size_t most, std::string& file) {
  const std::uint64_t shifted = chunk >> sharding_.preshift_bits;
  const std::uint64_t hash = sharding_.murmur ? murmur_hash(shifted) : shifted;
  const std::uint64_t minishard = low_bits(hash, sharding_.minishard_bits);
  const std::uint64_t shard = low_bits(hash >> sharding_.minishard_bits, sharding_.shard_bits);
  file = fmt::format("{}/{:0{}x}.shard", folder_, shard, (sharding_.shard_bits + 3) / 4);
  const std::optional<zarr::StoreFile> opened = zarr::StoreFile::open(file);
  if (!opened) return std::nullopt;
  const Index& index = index_of(*opened, shard, minishard);
  const auto entry = std::lower_bound(index.begin(), index.end(), chunk,
                                      [](const Entry& e, std::uint64_t number) { return e.chunk < number; });
  if (entry == index.end() || entry->chunk != chunk) return std::nullopt;
  const std::size_t allowed = sharding_.gzip_data ? zarr::most_encoded(most) : most;
  if (entry->size > allowed)
    throw Error(fmt::format("{}: chunk {} has {} bytes; allowed: at most {}", file, chunk, entry->size, allowed));
  Bytes bytes = opened->read(head() + entry->begin, entry->size);
  return sharding_.gzip_data ? unzipped(std::move(bytes), most, file) : bytes;
}

const ShardReader::Index& ShardReader::index_of(const zarr::StoreFile& file, std::uint64_t shard,
                                                std::uint64_t minishard) {
  constexpr std::size_t most = 64;
  const std::pair key{shard, minishard};
  const auto found = indexes_.find(key);
  if (found != indexes_.end()) return found->second;
  Index index = read_index(file, minishard);
  if (indexes_.size() >= most || kept_ + index.size() > kMostChunks) {
    indexes_.clear();
    kept_ = 0;
  }
  kept_ += index.size();
  return indexes_.emplace(key, std::move(index)).first->second;
}

ShardReader::Index ShardReader::read_index(const zarr::StoreFile& file, std::uint64_t minishard) const {
  if (file.size() < head())
    throw Error(fmt::format("{}: the shard is cut off: its index needs {} bytes, but there are {}", file.path(), head(),
                            file.size()));
  const std::uint64_t data = file.size() - head();
  const Bytes place = file.read(minishard * 2 * kNumber, 2 * kNumber);
  const std::uint64_t begin = number_at(place, 0), end = number_at(place, 1);
  if (begin > end || end > data)
    throw Error(fmt::format("{}: the index of minishard {} has bytes {} to {}; allowed: up to {}", file.path(),
                            minishard, begin, end, data));
  if (begin == end) return {};
  const std::size_t allowed = sharding_.gzip_index ? zarr::most_encoded(most_index_) : most_index_;
  if (end - begin > allowed)
    throw Error(fmt::format("{}: the index of minishard {} has {} bytes; allowed: at most {}", file.path(), minishard,
                            end - begin, allowed));
  Bytes bytes = file.read(head() + begin, end - begin);
  if (sharding_.gzip_index) bytes = unzipped(std::move(bytes), most_index_, file.path());
  const std::size_t count = bytes.size() / (3 * kNumber);
  if (count * 3 * kNumber != bytes.size())
    throw Error(fmt::format("{}: the index of minishard {} has {} bytes; allowed: a multiple of 24", file.path(),
                            minishard, bytes.size()));
  Index index(count);
  Entry last;  // numbers are differences to those of the entry before
  for (std::size_t i = 0; i < count; ++i) {
    last.chunk += number_at(bytes, i);
    last.begin += last.size + number_at(bytes, count + i);
    last.size = number_at(bytes, 2 * count + i);
    if (last.begin > data || last.size > data - last.begin)
      throw Error(fmt::format("{}: chunk {} has {} bytes from byte {}; allowed: up to {}", file.path(), last.chunk,
                              last.size, last.begin, data));
    index[i] = last;
  }
  std::sort(index.begin(), index.end(), [](const Entry& a, const Entry& b) { return a.chunk < b.chunk; });
  return index;
}

}  // namespace oriel::io::precomputed
