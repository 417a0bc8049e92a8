#include "io/levels_formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "io/ome/levels_out.h"
#include "io/precomputed/levels_out.h"

namespace oriel::io {
namespace {

constexpr std::array<LevelsFormat, 2> kFormats{{{.ending = ".zarr",
                                                 .is = &ome::is_levels_path,
                                                 .make_output = &ome::make_levels_output,
                                                 .create = &ome::create_levels,
                                                 .open = &ome::open_levels,
                                                 .complete = &ome::complete_levels},
                                                {.ending = ".precomputed",
                                                 .whole_channels = true,
                                                 .global_grid = true,
                                                 .is = &is_precomputed,
                                                 .prepare = &precomputed::prepare_levels,
                                                 .make_output = &precomputed::make_levels_output,
                                                 .create = &precomputed::create_levels,
                                                 .open = &precomputed::open_levels,
                                                 .complete = &precomputed::complete_levels}}};

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
