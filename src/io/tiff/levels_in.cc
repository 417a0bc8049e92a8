#include "io/tiff/levels_in.h"

#include <fmt/format.h>

#include <cmath>

#include "io/files.h"
#include "io/tiff/space.h"
#include "io/tiff/volume.h"
#include "io/tiff/volume_in.h"

namespace oriel::io {
namespace {

using tiff::File;
using tiff::TiffIn;

std::unique_ptr<File> open_file(const std::string& path) {
  return std::make_unique<File>(tiff::file_source(path), path);
}

// Numbers, from 1, of the reduced images behind the first one; masks are none.
std::vector<index_t> reduced_pages(File& file) {
  std::vector<index_t> pages;
  for (index_t page = 2; file.next(); ++page) {
    const auto kind = file.field<std::uint32_t>(TIFFTAG_SUBFILETYPE, 0);
    if ((kind & FILETYPE_REDUCEDIMAGE) != 0 && (kind & FILETYPE_MASK) == 0) pages.push_back(page);
  }
  return pages;
}

// The factor that makes an extent of another, if any does; else their ratio.
double factor_between(index_t n, index_t have) {
  const double ratio = static_cast<double>(n) / static_cast<double>(have);
  for (const double near : {std::nearbyint(ratio), std::floor(ratio), std::ceil(ratio)}) {
    const auto factor = static_cast<index_t>(near);
    if (factor >= 1 && ((n + factor - 1) / factor == have || n / factor == have)) return near;
  }
  return ratio;
}

void describe(TiffLevels& t) {
  const std::optional<TiffSpace> space = tiff_space(*t.levels[0]);
  t.nodata = space->nodata;
  for (const TiffSpace::Axis& axis : space->axes) {
    const bool of_space = axis.name == 'x' || axis.name == 'y' || axis.name == 'z';
    t.image.axes.push_back({std::string(1, axis.name), of_space ? "space" : axis.name == 't' ? "time" : "", axis.unit});
  }
  const Extents& base = t.levels[0]->shape;
  for (std::size_t l = 0; l < t.levels.size(); ++l) {
    ome::Level& level = t.image.levels[l];
    for (int d = 0; d < base.size(); ++d) {
      const double spacing = space->axes[static_cast<std::size_t>(d)].spacing,
                   factor = factor_between(base[d], t.levels[l]->shape[d]);
      level.scale.push_back(spacing * factor);
      level.translation.push_back(spacing * (factor - 1) / 2);
    }
  }
}

}  // namespace

std::optional<TiffLevels> open_tiff_levels(const std::string& path) {
  const bool all = is_tiff_volume(path);
  if (!all && (!is_tiff_image(path) || split_input_path(path).page)) return std::nullopt;
  const std::string name = all ? path.substr(0, path.size() - kAllPages.size()) : path;
  TiffLevels t;
  const auto add = [&](std::unique_ptr<TiffIn> level, index_t number) {
    if (!t.levels.empty() && level->shape.size() != t.levels[0]->shape.size())
      level->first_page().refuse(fmt::format("level {} has {} axes, but level 0 has {}", t.levels.size(),
                                             level->shape.size(), t.levels[0]->shape.size()));
    t.image.levels.push_back({std::to_string(number), {}, {}});
    t.levels.push_back(std::move(level));
  };
  std::unique_ptr<File> file = open_file(name);
  const auto below = static_cast<index_t>(tiff::sub_directories(*file).size());
  if (below > 0) {
    for (index_t l = 0; l <= below; ++l) {
      auto level = std::make_unique<TiffIn>(open_file(name), 0, std::nullopt);
      if (l > 0) level->choose_level(l);
      add(std::move(level), l);
    }
  } else {
    const std::vector<index_t> pages = reduced_pages(*file);
    if (pages.empty()) file->refuse("the TIFF has no reduced images; allowed: one with levels");
    add(std::make_unique<TiffIn>(open_file(name), 1, std::nullopt), 1);
    for (const index_t page : pages) add(std::make_unique<TiffIn>(open_file(name), page, std::nullopt), page);
  }
  describe(t);
  return t;
}

}  // namespace oriel::io
