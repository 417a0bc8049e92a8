#include "io/zarr/sharded_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "byte_order.h"
#include "io/temporary_name.h"
#include "io/zarr/store.h"
#include "io/zarr/types.h"

namespace oriel::io::zarr {
namespace {

namespace fs = std::filesystem;

// Bits of the numbers along all axes by turns, those of the last axis lowest.
index_t z_number(const Extents& at) {
  index_t number = 0;
  int taken = 0;
  constexpr int kBits = 60;
  for (int bit = 0; taken < kBits; ++bit) {
    for (int d = at.size() - 1; d >= 0 && taken < kBits; --d) number |= ((at[d] >> bit) & 1) << taken++;
  }
  return number;
}

// Where shards lie that are not whole yet: in a folder for each process.
constexpr const char* kBegun = "/.shards";

// The chunk that begins at a place: its shard in the grid, and its number there.
struct Where {
  Extents shard;
  index_t chunk = 0;
};
Where where(const Metadata& metadata, const Extents& begin) {
  Where w;
  for (int d = 0; d < begin.size(); ++d) {
    const index_t chunks = metadata.grid[d] / metadata.chunk()[d], at = begin[d] / metadata.chunk()[d];
    w.shard.push_back(at / chunks);
    w.chunk = w.chunk * chunks + at % chunks;
  }
  return w;
}

// In Z order, without those that lie beyond the end of the array.
std::vector<index_t> order_in(const Metadata& metadata, const Extents& shard) {
  Extents count, there, at = Extents::filled(shard.size(), 0);
  for (int d = 0; d < shard.size(); ++d) {
    const index_t chunk = metadata.chunk()[d];
    count.push_back(metadata.grid[d] / chunk);
    const index_t left = metadata.shape[d] - shard[d] * metadata.grid[d];
    there.push_back(std::min(count[d], (left + chunk - 1) / chunk));
  }
  std::vector<std::pair<index_t, index_t>> numbers;  // in Z order; in the shard
  for (;;) {
    index_t number = 0;
    for (int d = 0; d < at.size(); ++d) number = number * count[d] + at[d];
    numbers.emplace_back(z_number(at), number);
    int d = at.size() - 1;
    for (; d >= 0 && ++at[d] == there[d]; --d) at[d] = 0;
    if (d < 0) break;
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<index_t> order;
  order.reserve(numbers.size());
  for (const auto& [z, number] : numbers) order.push_back(number);
  return order;
}

// A chunk's elements, also those beyond the end of the array; nothing for one that has nothing but the fill value.
std::optional<WaitingChunk> encoded(const Metadata& metadata, Bytes bytes, const std::string& name) {
  if (is_filled(bytes, metadata.fill)) return std::nullopt;
  if (oriel::detail::kBigEndian) {
    const index_t element = size_bytes(metadata.dtype);
    oriel::detail::reverse_bytes(bytes.data(), metadata.chunk_bytes() / element, element);
  }
  const Bytes made = encode(metadata.codecs, std::move(bytes), name);
  return WaitingChunk(made.begin(), made.end());
}

ChunkWriter::Grid grid_of(const Metadata& metadata) {
  return {.dtype = metadata.dtype,
          .shape = metadata.shape,
          .chunk = metadata.chunk(),
          .order = metadata.order,
          .fill = metadata.fill};
}

// The place in the grid of a file `c/2/0/1`.
Extents place_of(const fs::path& key) {
  Extents place;
  for (const fs::path& part : key) {
    const std::string text = part.string();
    index_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) place.push_back(number);
  }
  return place;
}

void give_name(const std::string& from, const std::string& to, const std::string& name) {
  std::error_code error;
  if (!fs::exists(from, error)) return;  // none of its chunks had a file
  make_folder(fs::path(to).parent_path().string(), name);
  fs::rename(from, to, error);
  if (error) throw Error(fmt::format("{}: cannot write: {}", name, error.message()));
}

// What is there of one shard: shards of single processes, and chunks that came in parts.
struct Begun {
  Extents shard;
  std::vector<std::string> files;
  std::map<index_t, WaitingChunk> chunks;
};

void bring_together(const Begun& begun, const std::string& place, const std::string& name, const Metadata& metadata) {
  struct Source {
    StoreFile file;
    ShardIndex index;
  };
  std::vector<Source> sources;
  for (const std::string& path : begun.files) {
    std::optional<StoreFile> file = StoreFile::open(path);
    if (!file) throw Error(fmt::format("{}: a part of a shard, {}, is gone", name, path));
    ShardIndex index = read_index(*file, *metadata.sharding, metadata.chunks_of_shard());
    sources.push_back({std::move(*file), std::move(index)});
  }
  ShardWriter writer(place + "/" + metadata.key(begun.shard), name, metadata);
  for (const index_t chunk : order_in(metadata, begun.shard)) {
    if (const auto made = begun.chunks.find(chunk); made != begun.chunks.end()) writer.append(chunk, made->second);
    for (const Source& source : sources) {
      const ShardEntry& entry = source.index[static_cast<std::size_t>(chunk)];
      if (entry.there()) writer.append(chunk, source.file.read(entry.begin, entry.count));
    }
  }
  writer.close();
}

}  // namespace

ShardedOut::ShardedOut(std::string place, std::string name, Metadata metadata)
    : place_(std::move(place)),
      name_(std::move(name)),
      metadata_(std::move(metadata)),
      own_(temporary_name(place_ + kBegun + "/process")),
      parts_(place_, name_, grid_of(metadata_), [this](const Extents& at, Bytes elements) {
        Extents begin = at;
        for (int d = 0; d < at.size(); ++d) begin[d] *= metadata_.chunk()[d];
        take(begin, encoded(metadata_, std::move(elements), name_));
      }) {}

void ShardedOut::write(const Extents& begin, const ConstTensor& from) { parts_.write(begin, from); }

void ShardedOut::leave_out(const Extents& begin, const Extents&) { take(begin, std::nullopt); }

void ShardedOut::take(const Extents& begin, std::optional<WaitingChunk> encoded) {
  const Where w = where(metadata_, begin);
  const std::string key = metadata_.key(w.shard);
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = shards_.try_emplace(key);
  Shard& shard = found->second;
  if (is_new) {
    shard.order = order_in(metadata_, w.shard);
    shard.file = std::make_unique<ShardWriter>(own_ + "/" + key, name_, metadata_);
  }
  if (!shard.waiting.emplace(w.chunk, std::move(encoded)).second) {
    throw Error(fmt::format("{}: chunk {} of {} is written twice", name_, w.chunk, key));
  }
  while (shard.next < shard.order.size()) {
    const auto ready = shard.waiting.find(shard.order[shard.next]);
    if (ready == shard.waiting.end()) return;
    if (ready->second) shard.file->append(ready->first, *ready->second);
    shard.waiting.erase(ready);
    ++shard.next;
  }
  shard.file->close();
  shards_.erase(found);
  give_name(own_ + "/" + key, place_ + "/" + key, name_);
}

void ShardedOut::close() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, shard] : shards_) {  // other processes have the rest of these
    for (const auto& [chunk, bytes] : shard.waiting) {
      if (bytes) shard.file->append(chunk, *bytes);
    }
    shard.file->close();
  }
  shards_.clear();
}

void complete_shards(const std::string& place, const std::string& name, const Metadata& metadata) {
  std::map<std::string, Begun> begun;
  const auto of = [&](const Extents& shard) -> Begun& {
    Begun& there = begun[metadata.key(shard)];
    there.shard = shard;
    return there;
  };
  const ChunkWriter parts(place, name, grid_of(metadata), [&](const Extents& at, Bytes elements) {
    Extents begin = at;
    for (int d = 0; d < at.size(); ++d) begin[d] *= metadata.chunk()[d];
    const Where w = where(metadata, begin);
    if (auto bytes = encoded(metadata, std::move(elements), name))
      of(w.shard).chunks.emplace(w.chunk, *std::move(bytes));
  });
  parts.complete();
  const fs::path folder = place + kBegun;
  std::error_code none;
  if (fs::exists(folder, none)) {
    for (const auto& process : fs::directory_iterator(folder)) {
      for (const auto& file : fs::recursive_directory_iterator(process.path())) {
        if (!file.is_directory())
          of(place_of(file.path().lexically_relative(process.path()))).files.push_back(file.path().string());
      }
    }
  }
  for (const auto& [key, shard] : begun) bring_together(shard, place, name, metadata);
  fs::remove_all(folder, none);
}

}  // namespace oriel::io::zarr
