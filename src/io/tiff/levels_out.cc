#include "io/tiff/levels_out.h"

#include <fmt/format.h>

#include <vector>

#include "io/assembled_file.h"
#include "io/chunk_writer.h"
#include "io/tiff/level_file.h"
#include "io/zarr/store.h"

namespace oriel::io::tiff {
namespace {

bool ends_with(const std::string& path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  for (std::size_t i = 0; i < ending.size(); ++i) {
    const char c = path[path.size() - ending.size() + i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != ending[i]) return false;
  }
  return true;
}

std::string parts_of(const std::string& place, std::size_t level) { return fmt::format("{}/{}", place, level); }

// Tiles are compressed as they come, and wait for their places in a file of this process.
class LevelsFile : public LevelsOut {
 public:
  LevelsFile(const std::string& place, const std::string& path, const LevelsSpec& spec) : spool_(place, path) {
    for (std::size_t l = 0; l < spec.levels.size(); ++l) {
      const LevelPages& pages = spec.tiff->pages[l];
      TileCodec codec = spec.tiff->codec;
      codec.columns = pages.tile_columns;
      writers_.emplace_back(
          parts_of(place, l), path,
          ChunkWriter::Grid{
              .dtype = codec.dtype, .shape = spec.levels[l].shape, .chunk = pages.tile, .order = pages.order},
          [this, l, codec, path, &pages](const Extents& at, zarr::Bytes elements) {
            spool_.put({static_cast<index_t>(l), pages.tile_number(at)}, codec.encode(std::move(elements), path));
          });
    }
  }

  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    writers_[static_cast<std::size_t>(level)].write(begin, chunk);
  }
  void write_part(int level, const Extents& begin, const ConstTensor& box) override { write(level, begin, box); }
  void close() override { spool_.close(); }
  void complete() {
    for (const ChunkWriter& writer : writers_) writer.complete();
    close();
  }

 private:
  TileSpool spool_;
  std::vector<ChunkWriter> writers_;
};

}  // namespace

bool is_ome_levels_path(const std::string& path) { return ends_with(path, ".ome.tif") || ends_with(path, ".ome.tiff"); }
bool is_levels_path(const std::string& path) { return ends_with(path, ".tif") || ends_with(path, ".tiff"); }

void prepare_ome_levels(const std::string& path, LevelsSpec& spec) {
  spec.tiff = std::make_shared<const Levels>(divide_levels(path, spec, true));
}

void prepare_levels(const std::string& path, LevelsSpec& spec) {
  spec.tiff = std::make_shared<const Levels>(divide_levels(path, spec, false));
  // As in FILE.tif:2.
  for (std::size_t l = 0; l < spec.levels.size(); ++l) spec.image.levels[l].path = std::to_string(l + 1);
}

std::unique_ptr<Output> make_levels_output(const std::string& path) { return std::make_unique<AssembledFile>(path); }

void create_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  for (std::size_t l = 0; l < spec.levels.size(); ++l) {
    zarr::make_folder(parts_of(place, l), path);
    ChunkWriter::create(parts_of(place, l), path);
  }
}

std::unique_ptr<LevelsOut> open_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  return std::make_unique<LevelsFile>(place, path, spec);
}

void complete_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  LevelsFile(place, path, spec).complete();
  std::vector<index_t> counts;
  for (const LevelPages& pages : spec.tiff->pages) counts.push_back(pages.tiles());
  const SpooledTiles tiles(place, path, counts);
  write_level_file(AssembledFile::whole(place), path, spec, *spec.tiff, tiles);
}

}  // namespace oriel::io::tiff
