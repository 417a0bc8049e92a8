#include "io/tiff/level_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "byte_order.h"
#include "io/tiff/level_tags.h"

namespace oriel::io::tiff {
namespace {

// What GDAL's readers may rely on, behind the header. The space makes its length even.
constexpr std::string_view kStructure =
    "GDAL_STRUCTURAL_METADATA_SIZE=000140 bytes\n"
    "LAYOUT=IFDS_BEFORE_DATA\n"
    "BLOCK_ORDER=ROW_MAJOR\n"
    "BLOCK_LEADER=SIZE_AS_UINT4\n"
    "BLOCK_TRAILER=LAST_4_BYTES_REPEATED\n"
    "KNOWN_INCOMPATIBLE_EDITION=NO\n ";
static_assert(kStructure.size() == 43 + 140);

constexpr index_t kWord = 4;

class LevelFile {
 public:
  LevelFile(const std::string& path, const LevelsSpec& spec, const Levels& levels, const SpooledTiles& tiles)
      : path_(path), levels_(levels), tiles_(tiles), framed_(!levels.ome && !levels.pages[0].separate) {
    for (index_t plane = 0; plane < levels.pages[0].planes; ++plane)
      for (std::size_t l = 0; l < levels.pages.size(); ++l)
        images_.push_back(
            {.level = static_cast<index_t>(l), .plane = plane, .tags = level_tags(spec, levels, l, plane)});
  }

  void write(const std::string& place, index_t most_classic) {
    lay_out(false);
    if (end_ > most_classic) lay_out(true);
    PlacedFile out(place, O_WRONLY | O_CREAT | O_EXCL, path_);
    std::vector<std::byte> head = tiff_header(big_, static_cast<std::uint64_t>(images_[0].at));
    if (framed_) {
      const auto structure = std::as_bytes(std::span(kStructure));
      head.insert(head.end(), structure.begin(), structure.end());
    }
    out.write(head.data(), static_cast<index_t>(head.size()), 0);
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const std::vector<std::byte> directory =
          images_[i].tags.made(big_, static_cast<std::uint64_t>(images_[i].at), next_of(i));
      out.write(directory.data(), static_cast<index_t>(directory.size()), images_[i].at);
    }
    index_t at = data_;
    for_each_tile([&](Image&, TileKey key) { at += write_tile(out, key, at); });
    out.close();
  }

 private:
  struct Image {
    index_t level = 0, plane = 0;
    Directory tags;
    index_t at = 0;  // of its directory
    std::vector<std::uint64_t> places{};
    std::vector<std::uint32_t> bytes{};
  };

  // In the order of the file: the coarsest level first.
  template <class Use>
  void for_each_tile(const Use& use) {
    const std::size_t count = levels_.pages.size();
    for (std::size_t l = count; l-- > 0;) {
      const LevelPages& pages = levels_.pages[l];
      for (index_t plane = 0; plane < pages.planes; ++plane)
        for (index_t t = 0; t < pages.page_tiles(); ++t)
          use(images_[static_cast<std::size_t>(plane) * count + l],
              TileKey{static_cast<index_t>(l), plane * pages.page_tiles() + t});
    }
  }

  // Places of everything. How long directories are does not depend on where things are.
  void lay_out(bool big) {
    big_ = big;
    for (Image& image : images_) {
      image.places.assign(static_cast<std::size_t>(pages_of(image).page_tiles()), 0);
      image.bytes.assign(image.places.size(), 0);
      set_places(image);
    }
    index_t at = tiff_header_bytes(big) + (framed_ ? static_cast<index_t>(kStructure.size()) : 0);
    at += at % 2;
    for (Image& image : images_) {
      image.at = at;
      at += image.tags.bytes(big);
    }
    data_ = at;
    for (Image& image : images_) {
      image.places.clear();
      image.bytes.clear();
    }
    for_each_tile([&](Image& image, TileKey key) {
      image.places.push_back(static_cast<std::uint64_t>(at + (framed_ ? kWord : 0)));
      image.bytes.push_back(static_cast<std::uint32_t>(tiles_.bytes(key)));
      at += tiles_.bytes(key) + (framed_ ? 2 * kWord : 0);
    });
    end_ = at;
    for (Image& image : images_) set_places(image);
  }

  const LevelPages& pages_of(const Image& image) const { return levels_.pages[static_cast<std::size_t>(image.level)]; }

  void set_places(Image& image) {
    image.tags.set_places(TIFFTAG_TILEOFFSETS, TIFF_LONG, image.places);
    image.tags.set_list(TIFFTAG_TILEBYTECOUNTS, TIFF_LONG, std::span<const std::uint32_t>(image.bytes));
    const std::size_t count = levels_.pages.size();
    if (!levels_.ome || image.level > 0 || count < 2) return;
    std::vector<std::uint64_t> below;
    const std::size_t first = static_cast<std::size_t>(image.plane) * count;
    for (std::size_t l = 1; l < count; ++l) below.push_back(static_cast<std::uint64_t>(images_[first + l].at));
    image.tags.set_places(TIFFTAG_SUBIFD, TIFF_IFD, below);
  }

  // Reduced images of an OME-TIFF are in no chain.
  std::uint64_t next_of(std::size_t i) const {
    const std::size_t next = levels_.ome ? i + levels_.pages.size() : i + 1;
    const bool there = next < images_.size() && (!levels_.ome || images_[i].level == 0);
    return there ? static_cast<std::uint64_t>(images_[next].at) : 0;
  }

  index_t write_tile(PlacedFile& out, TileKey key, index_t at) {
    tiles_.read(key, tile_);
    if (framed_) {
      // Of a tile of fewer bytes all are repeated.
      const auto count = static_cast<std::uint32_t>(tile_.size());
      const std::uint32_t leader = detail::little_endian(count);
      const std::size_t last = std::min<std::size_t>(count, kWord);
      tile_.insert(tile_.begin(), kWord, std::byte{0});
      std::memcpy(tile_.data(), &leader, kWord);
      tile_.resize(tile_.size() + kWord);
      std::memcpy(tile_.data() + kWord + count, tile_.data() + kWord + count - last, last);
    }
    out.write(tile_.data(), static_cast<index_t>(tile_.size()), at);
    return static_cast<index_t>(tile_.size());
  }

  const std::string& path_;
  const Levels& levels_;
  const SpooledTiles& tiles_;
  const bool framed_;
  bool big_ = false;
  std::vector<Image> images_;  // of each plane level 0 and those below
  index_t data_ = 0, end_ = 0;
  std::vector<std::byte> tile_;
};

}  // namespace

void write_level_file(const std::string& place, const std::string& path, const LevelsSpec& spec, const Levels& levels,
                      const SpooledTiles& tiles, index_t most_classic) {
  LevelFile(path, spec, levels, tiles).write(place, most_classic);
}

}  // namespace oriel::io::tiff
