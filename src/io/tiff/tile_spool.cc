#include "io/tiff/tile_spool.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <limits>

#include "io/temporary_name.h"

namespace oriel::io::tiff {
namespace {

constexpr const char* kEnding = ".tiles";

// Before each tile of a spool: its level, its number, its bytes.
using Head = std::array<index_t, 3>;

}  // namespace

// Names of ranks on several machines differ, too.
TileSpool::TileSpool(const std::string& folder, std::string name)
    : file_(std::make_unique<PlacedFile>(temporary_name(folder + "/spool") + kEnding, O_RDWR | O_CREAT | O_EXCL,
                                         std::move(name))) {}

void TileSpool::put(TileKey key, std::span<const std::byte> bytes) {
  const Head head{key.level, key.tile, static_cast<index_t>(bytes.size())};
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(fmt::format("{}: a tile of {} bytes; allowed: less than 2^32", file_->file(), bytes.size()));
  std::vector<std::byte> record(sizeof head + bytes.size());
  std::memcpy(record.data(), head.data(), sizeof head);
  if (!bytes.empty()) std::memcpy(record.data() + sizeof head, bytes.data(), bytes.size());
  const auto count = static_cast<index_t>(record.size());
  file_->write(record.data(), count, end_.fetch_add(count));
}

SpooledTiles::SpooledTiles(const std::string& folder, const std::string& name, const std::vector<index_t>& counts)
    : name_(name) {
  for (const index_t count : counts) levels_.emplace_back(static_cast<std::size_t>(count));
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(kEnding)) found.push_back(entry.path().string());
  for (const std::string& path : found) {
    files_.push_back(std::make_unique<PlacedFile>(path, O_RDONLY, name));
    look_up(static_cast<std::uint32_t>(files_.size() - 1));
  }
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const auto gap = std::find_if(levels_[l].begin(), levels_[l].end(), [](const Tile& t) { return t.at == 0; });
    if (gap != levels_[l].end())
      throw Error(fmt::format("{}: tile {} of level {} was not written", name, gap - levels_[l].begin(), l));
  }
}

void SpooledTiles::look_up(std::uint32_t file) {
  const PlacedFile& spool = *files_[file];
  const index_t end = spool.size();
  for (index_t at = 0; at < end;) {
    Head head{};
    const bool whole = spool.read(head.data(), sizeof head, at) == static_cast<index_t>(sizeof head);
    const auto [level, number, bytes] = head;
    at += static_cast<index_t>(sizeof head);
    if (!whole || level < 0 || level >= static_cast<index_t>(levels_.size()) || number < 0 ||
        number >= static_cast<index_t>(levels_[static_cast<std::size_t>(level)].size()) || bytes < 0 ||
        bytes > end - at)
      throw Error(fmt::format("{}: a temporary file of tiles is damaged", name_));
    Tile& tile = levels_[static_cast<std::size_t>(level)][static_cast<std::size_t>(number)];
    if (tile.at != 0) throw Error(fmt::format("{}: tile {} of level {} was written twice", name_, number, level));
    tile = {.at = at, .bytes = static_cast<std::uint32_t>(bytes), .file = file};
    at += bytes;
  }
}

void SpooledTiles::read(TileKey key, std::vector<std::byte>& to) const {
  const Tile& t = tile(key);
  to.resize(t.bytes);
  if (files_[t.file]->read(to.data(), t.bytes, t.at) < t.bytes)
    throw Error(fmt::format("{}: a temporary file of tiles became shorter", name_));
}

}  // namespace oriel::io::tiff
