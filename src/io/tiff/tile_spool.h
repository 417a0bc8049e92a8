// Tiles that wait in files until it is known where in a TIFF they will be.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/placed_file.h"

namespace oriel::io::tiff {

/// Which tile of which level.
struct TileKey {
  index_t level = 0, tile = 0;
};

/// A file of tiles that this process makes in `folder`. Errors call it `name`.
class TileSpool {
 public:
  TileSpool(const std::string& folder, std::string name);

  /// Each tile once, from any thread.
  void put(TileKey key, std::span<const std::byte> bytes);
  void close() { file_->close(); }

 private:
  std::unique_ptr<PlacedFile> file_;
  std::atomic<index_t> end_{0};
};

/// The tiles of all spools of a folder.
class SpooledTiles {
 public:
  /// `counts`: the tiles of each level. Throws Error unless each is there once.
  SpooledTiles(const std::string& folder, const std::string& name, const std::vector<index_t>& counts);

  index_t bytes(TileKey key) const { return tile(key).bytes; }
  /// Replaces what is in `to`.
  void read(TileKey key, std::vector<std::byte>& to) const;

 private:
  struct Tile {
    index_t at = 0;  // in the file
    std::uint32_t bytes = 0, file = 0;
  };
  const Tile& tile(TileKey key) const {
    return levels_[static_cast<std::size_t>(key.level)][static_cast<std::size_t>(key.tile)];
  }
  void look_up(std::uint32_t file);

  std::string name_;
  std::vector<std::unique_ptr<PlacedFile>> files_;
  std::vector<std::vector<Tile>> levels_;
};

}  // namespace oriel::io::tiff
