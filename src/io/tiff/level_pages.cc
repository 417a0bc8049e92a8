#include "io/tiff/level_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "io/tiff/axes.h"
#include "io/tiff/volume.h"
#include "io/tiff/volume_in.h"
#include "oriel/window.h"
#include "quoted.h"

namespace oriel::io::tiff {
namespace {

constexpr index_t kSideUnit = 16;  // sides of tiles are multiples of it
constexpr index_t kMostSamples = std::numeric_limits<std::uint16_t>::max();

index_t rounded_up(index_t n) { return ceil_div(n, kSideUnit) * kSideUnit; }

const std::string& axis_name(const LevelsSpec& spec, int d) {
  return spec.image.axes[static_cast<std::size_t>(d)].name;
}

// y and x are the last, and what comes before has a place in the file.
void check_level_axes(const std::string& path, const LevelsSpec& spec, bool ome) {
  const int rank = spec.levels[0].shape.size();
  std::string names;
  for (int d = 0; d < rank; ++d) names += axis_name(spec, d).size() == 1 ? axis_name(spec, d) : "?";
  const std::string_view outer_allowed = ome ? "tcz" : "c";
  bool good = names.ends_with("yx");
  for (const char c : names.substr(0, names.size() - 2)) good = good && outer_allowed.find(c) != std::string::npos;
  if (good) return;
  if (ome)
    throw Error(
        fmt::format("{}: an OME-TIFF has the axes t, c, z, y and x, the last two y and x, but the axes are {}; "
                    "allowed: --axes with these, or .zarr",
                    path, detail::quoted(names)));
  throw Error(
      fmt::format("{}: the levels of a cloud-optimised TIFF are images with the axes yx or cyx, but the axes "
                  "are {}; allowed: .ome.tif, .zarr, or --axes",
                  path, detail::quoted(names)));
}

// Every level shows all of level 0's planes, and the same part of space: nothing in the file says otherwise.
void check_factors(const std::string& path, const LevelsSpec& spec) {
  const int rank = spec.levels[0].shape.size();
  for (std::size_t l = 0; l < spec.plan.size(); ++l) {
    const PyramidLevel& level = spec.plan[l];
    for (int d = 0; d < rank; ++d) {
      const bool plane = d >= rank - 2;
      if (!plane && level.factor[d] != 1) {
        std::string fits;
        for (int i = 0; i < rank; ++i) fits += fmt::format("{}{}", i == 0 ? "" : "x", i < rank - 2 ? 1 : 2);
        throw Error(
            fmt::format("{}: levels of a TIFF are smaller along y and x only, but level {} is along {}; "
                        "allowed: --factor {}, or .zarr",
                        path, l, detail::quoted(axis_name(spec, d)), fits));
      }
      if (level.lead[d] != 0)
        throw Error(
            fmt::format("{}: windows of level {} begin before the first element along {}, for which a TIFF has "
                        "no tag; allowed: without --origin, or .zarr",
                        path, l, detail::quoted(axis_name(spec, d))));
      if (level.shape[d] != ceil_div(spec.plan[0].shape[d], level.factor[d]))
        throw Error(
            fmt::format("{}: level {} lacks the end of {}, for which a TIFF has no tag; allowed: --edge "
                        "partial, or .zarr",
                        path, l, detail::quoted(axis_name(spec, d))));
    }
  }
}

void check_contents(const std::string& path, const LevelsSpec& spec, bool ome) {
  const VolumeSpec& base = spec.levels[0];
  for (const VolumeSpec& level : spec.levels) {
    check_tiff(path, level);
    if (level.dtype != base.dtype)
      throw Error(
          fmt::format("{}: all levels of a TIFF have one type, but level 0 is {}, others are {}; allowed: a "
                      "--method that keeps it, or .zarr",
                      path, name(base.dtype), name(level.dtype)));
  }
  if (ome && !has_ome_type(base.dtype))
    throw Error(
        fmt::format("{}: an OME-TIFF holds integers of 8, 16 and 32 bits and floats of 32 and 64, but IN is {}; "
                    "allowed for others: .tif, .zarr",
                    path, name(base.dtype)));
  if (!base.shard.empty()) throw Error(fmt::format("{}: written without shards; allowed: --shard for .zarr", path));
  if (base.codec) check_tiff_compression(*base.codec, path);
}

LevelPages divide(const std::string& path, const LevelsSpec& spec, std::size_t level, bool ome) {
  const Extents &shape = spec.levels[level].shape, &chunk = spec.levels[level].chunk;
  const int rank = shape.size(), y = rank - 2, x = rank - 1;
  for (const int d : {y, x})
    if (chunk[d] % kSideUnit != 0)
      throw Error(fmt::format("{}: --chunk: sides of tiles are {}x{}; allowed: multiples of {}", path, chunk[y],
                              chunk[x], kSideUnit));
  LevelPages p{.rows = shape[y], .columns = shape[x]};
  p.tile_rows = std::min(chunk[y], rounded_up(p.rows));
  p.tile_columns = std::min(chunk[x], rounded_up(p.columns));
  int samples = -1;  // the axis of samples
  for (int d = 0; d < y; ++d) {
    const bool together = axis_name(spec, d) == "c" && shape[d] > 1 && chunk[d] >= shape[d];
    if (together || (axis_name(spec, d) == "c" && !ome)) samples = d;
    p.tile.push_back(together ? shape[d] : 1);
    p.grid.push_back(together ? 1 : shape[d]);
    if (samples == d) {
      p.samples = shape[d];
      p.separate = !together && shape[d] > 1;
    } else {
      p.planes *= shape[d];
    }
    if (!together) p.order.push_back(d);
  }
  if (p.samples > kMostSamples)
    throw Error(fmt::format("{}: {} channels; allowed in a TIFF: at most {}", path, p.samples, kMostSamples));
  p.order.push_back(y);
  p.order.push_back(x);
  if (samples >= 0 && !p.separate && p.samples > 1) p.order.push_back(samples);
  p.tile.push_back(p.tile_rows);
  p.tile.push_back(p.tile_columns);
  p.grid.push_back(ceil_div(p.rows, p.tile_rows));
  p.grid.push_back(ceil_div(p.columns, p.tile_columns));
  if (p.page_tiles() > std::numeric_limits<std::uint32_t>::max())
    throw Error(fmt::format("{}: level {} has {} tiles; allowed: less than 2^32, with a larger --chunk", path, level,
                            p.page_tiles()));
  return p;
}

KeptTags kept_tags(const LevelsSpec& spec, const LevelPages& pages) {
  KeptTags kept;
  VolumeIn* const like = spec.levels[0].like;
  if (like == nullptr) return kept;
  if (like->picture) kept.icc_profile = like->picture->icc_profile;
  constexpr index_t colours = 3;
  auto* const in = dynamic_cast<TiffIn*>(like);
  if (in == nullptr) {
    kept.colours = like->picture && pages.samples >= colours;
    return kept;
  }
  const File& file = in->first_page();
  kept.geo = read_geo(file);
  if (in->layout().samples != pages.samples || pages.samples == 1) return kept;
  kept.colours = pages.samples >= colours &&
                 file.field<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) == PHOTOMETRIC_RGB;
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  if (TIFFGetField(file.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) == 1 && kinds != nullptr)
    kept.extra_samples.assign(kinds, kinds + count);
  return kept;
}

// Where level 0 is: GeoTIFF's tags say it for all levels, others only how far apart pixels are.
void check_place(const std::string& path, const LevelsSpec& spec, const KeptTags& kept) {
  const ome::Level& base = spec.image.levels[0];
  const int rank = spec.levels[0].shape.size();
  for (int d = 0; d < rank; ++d) {
    const double translation = base.translation[static_cast<std::size_t>(d)];
    if (translation != 0)
      throw Error(
          fmt::format("{}: a TIFF has no tag for a translation, which is {} along {}; allowed: --translation "
                      "0, or .zarr",
                      path, translation, detail::quoted(axis_name(spec, d))));
  }
  const auto spacing = spacing_of(kept.geo);
  if (!spacing) return;
  for (const int d : {rank - 2, rank - 1}) {
    const double scale = base.scale[static_cast<std::size_t>(d)], own = d == rank - 1 ? spacing->x : spacing->y;
    if (scale != own)
      throw Error(
          fmt::format("{}: the tags of GeoTIFF, which are kept, say that pixels are {} apart along {}, but the "
                      "spacing is {}; allowed: without --spacing",
                      path, own, detail::quoted(axis_name(spec, d)), scale));
  }
}

}  // namespace

index_t LevelPages::page_tiles() const {
  return ceil_div(rows, tile_rows) * ceil_div(columns, tile_columns) * (separate ? samples : 1);
}

// Planes are numbered as the axes before y are, and so are samples that are separate.
index_t LevelPages::tile_number(const Extents& place) const {
  index_t number = 0;
  for (int d = 0; d < place.size(); ++d) number = number * grid[d] + place[d];
  return number;
}

Levels divide_levels(const std::string& path, const LevelsSpec& spec, bool ome) {
  check_level_axes(path, spec, ome);
  check_contents(path, spec, ome);
  check_factors(path, spec);
  Levels levels{.ome = ome, .pages = {}, .codec = {.dtype = spec.levels[0].dtype}, .kept = {}};
  for (std::size_t l = 0; l < spec.levels.size(); ++l) levels.pages.push_back(divide(path, spec, l, ome));
  const LevelPages& base = levels.pages[0];
  if (spec.levels[0].codec) levels.codec.compression = *spec.levels[0].codec;
  levels.codec.samples = base.separate ? 1 : base.samples;
  levels.kept = kept_tags(spec, base);
  if (ome) levels.kept.geo = {};
  check_place(path, spec, levels.kept);
  return levels;
}

}  // namespace oriel::io::tiff
