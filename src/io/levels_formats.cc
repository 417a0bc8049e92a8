#include "io/levels_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <limits>

#include "io/ome/levels_out.h"
#include "io/precomputed/levels_out.h"
#include "io/tiff/levels_out.h"

namespace oriel::io {
namespace {

constexpr index_t kTiffTile = 512;
constexpr index_t kPictureChannels = 4;  // more are stored one after the other

constexpr std::array<LevelsFormat, 4> kFormats{{{.ending = ".zarr",
                                                 .versions = true,
                                                 .is = &ome::is_levels_path,
                                                 .make_output = &ome::make_levels_output,
                                                 .create = &ome::create_levels,
                                                 .open = &ome::open_levels,
                                                 .complete = &ome::complete_levels},
                                                {.ending = ".precomputed",
                                                 .whole_channels = std::numeric_limits<index_t>::max(),
                                                 .global_grid = true,
                                                 .is = &is_precomputed,
                                                 .prepare = &precomputed::prepare_levels,
                                                 .make_output = &precomputed::make_levels_output,
                                                 .create = &precomputed::create_levels,
                                                 .open = &precomputed::open_levels,
                                                 .complete = &precomputed::complete_levels},
                                                {.ending = ".ome.tif",
                                                 .plane_chunk = kTiffTile,
                                                 .planes_only = true,
                                                 .is = &tiff::is_ome_levels_path,
                                                 .prepare = &tiff::prepare_ome_levels,
                                                 .make_output = &tiff::make_levels_output,
                                                 .create = &tiff::create_levels,
                                                 .open = &tiff::open_levels,
                                                 .complete = &tiff::complete_levels},
                                                {.ending = ".tif",
                                                 .whole_channels = kPictureChannels,
                                                 .plane_chunk = kTiffTile,
                                                 .planes_only = true,
                                                 .is = &tiff::is_levels_path,
                                                 .prepare = &tiff::prepare_levels,
                                                 .make_output = &tiff::make_levels_output,
                                                 .create = &tiff::create_levels,
                                                 .open = &tiff::open_levels,
                                                 .complete = &tiff::complete_levels}}};

}  // namespace

const LevelsFormat* levels_format_of(const std::string& path) {
  for (const LevelsFormat& format : kFormats) {
    if (!path.empty() && format.is(path)) return &format;
  }
  return nullptr;
}

std::string levels_endings() {
  std::vector<std::string_view> endings;
  for (const LevelsFormat& format : kFormats) endings.push_back(format.ending);
  return fmt::format("{}", fmt::join(endings, ", "));
}

}  // namespace oriel::io
