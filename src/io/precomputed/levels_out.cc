#include "io/precomputed/levels_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "io/output_folder.h"
#include "io/precomputed/info.h"
#include "io/precomputed/volume_out.h"
#include "io/zarr/store.h"
#include "quoted.h"

namespace oriel::io::precomputed {
namespace {

constexpr index_t kBlock = 8;  // the side of neuroglancer's blocks of compressed_segmentation
constexpr index_t kFarthest = index_t{1} << 52;

struct Unit {
  std::string_view name;
  double nanometers;
};
constexpr std::array kUnits{Unit{"", 1},
                            Unit{"picometer", 1e-3},
                            Unit{"angstrom", 0.1},
                            Unit{"nanometer", 1},
                            Unit{"micrometer", 1e3},
                            Unit{"millimeter", 1e6},
                            Unit{"centimeter", 1e7},
                            Unit{"meter", 1e9},
                            Unit{"kilometer", 1e12}};

// Which axis of the levels is x, y, z, channel; -1: none.
using Places = std::array<int, kSpace + 1>;

Places places_of(const std::string& path, const LevelsSpec& spec) {
  constexpr std::string_view names = "xyzc";
  Places places{-1, -1, -1, -1};
  for (std::size_t d = 0; d < spec.image.axes.size(); ++d) {
    const std::string& name = spec.image.axes[d].name;
    const std::size_t at = name.size() == 1 ? names.find(name[0]) : std::string_view::npos;
    if (at == std::string_view::npos)
      throw Error(
          fmt::format("{}: a precomputed volume has the axes x, y, z and c, but one is {}; allowed: --axes with "
                      "these, or .zarr",
                      path, detail::quoted(name)));
    places[at] = static_cast<int>(d);
  }
  return places;
}

// Values of the levels' axes as those of x, y, z and, if the levels have any, channels.
Extents placed(const Extents& extents, const Places& places, index_t other) {
  Extents found;
  for (int d = 0; d < kSpace + 1; ++d) {
    const int from = places[static_cast<std::size_t>(d)];
    if (from >= 0 || d < kSpace) found.push_back(from >= 0 ? extents[from] : other);
  }
  return found;
}

ConstTensor placed(const ConstTensor& box, const Places& places) {
  return {box.data, box.dtype, placed(box.shape, places, 1), placed(box.pitch, places, 0)};
}

double nanometers(const std::string& path, const std::string& unit) {
  for (const Unit& known : kUnits)
    if (known.name == unit) return known.nanometers;
  throw Error(
      fmt::format("{}: resolutions are nanometers, and the unit is {}; allowed: picometer, angstrom, nanometer, "
                  "micrometer, millimeter, centimeter, meter, kilometer",
                  path, detail::quoted(unit)));
}

// The coordinate of the first voxel of level 0.
index_t first_voxel(const std::string& path, const ome::Level& base, std::size_t axis) {
  const double at = base.translation[axis] / base.scale[axis], whole = std::round(at);
  constexpr double near = 1e-6;
  if (std::abs(at - whole) <= near && std::abs(whole) <= static_cast<double>(kFarthest))
    return static_cast<index_t>(whole);
  throw Error(
      fmt::format("{}: voxel_offset holds whole voxels, but the translation {} is {} of them along axis {}; "
                  "allowed: --translation with multiples of the spacing {}",
                  path, base.translation[axis], at, axis, base.scale[axis]));
}

void place(Scale& s, const std::string& path, const LevelsSpec& spec, std::size_t level, const Places& places) {
  const PyramidLevel& plan = spec.plan[level];
  for (int d = 0; d < kSpace; ++d) {
    const int axis = places[static_cast<std::size_t>(d)];
    if (axis < 0) continue;
    const auto a = static_cast<std::size_t>(axis);
    double& resolution = s.resolution[static_cast<std::size_t>(d)];
    resolution = spec.image.levels[level].scale[a] * nanometers(path, spec.image.axes[a].unit);
    if (!(resolution > 0) || !std::isfinite(resolution))
      throw Error(fmt::format("{}: a resolution of {} nm; allowed: numbers > 0", path, resolution));
    const index_t begin = first_voxel(path, spec.image.levels[0], a) - plan.lead[axis];
    if (begin % plan.factor[axis] != 0)
      throw Error(
          fmt::format("{}: windows of {} voxels would begin at voxel {} along {}; allowed: without --origin, so "
                      "that they begin at multiples",
                      path, plan.factor[axis], begin, "xyz"[d]));
    s.offset[d] = begin / plan.factor[axis];
  }
}

Info info_of(const std::string& path, const LevelsSpec& spec, std::size_t level) {
  const VolumeSpec& volume = spec.levels[level];
  const Places places = places_of(path, spec);
  const Extents shape = placed(volume.shape, places, 1), chunk = placed(volume.chunk, places, 1);
  Info info;
  info.dtype = volume.dtype;
  info.channels = shape.size() > kSpace ? shape[kSpace] : 1;
  const bool wide = info.dtype == Dtype::u32 || info.dtype == Dtype::u64;
  const bool labels = wide || info.dtype == Dtype::u8 || info.dtype == Dtype::u16;
  info.segmentation = spec.image.labels && labels && info.channels == 1;
  Scale& s = info.scale;
  for (int d = 0; d < kSpace; ++d) {
    s.size.push_back(shape[d]);
    s.chunk.push_back(std::max<index_t>(chunk[d], 1));
  }
  if (info.segmentation && wide && !volume.codec) {
    s.encoding = Encoding::compressed_segmentation;
    s.block = Extents::filled(kSpace, kBlock);
  }
  place(s, path, spec, level, places);
  s.key = fmt::format("{}_{}_{}", s.resolution[0], s.resolution[1], s.resolution[2]);
  return info;
}

std::vector<Info> infos_of(const std::string& path, const LevelsSpec& spec) {
  std::vector<Info> infos;
  for (std::size_t l = 0; l < spec.levels.size(); ++l) infos.push_back(info_of(path, spec, l));
  return infos;
}

// One `data_type` and `num_channels` for all.
void check_alike(const std::string& path, const std::vector<Info>& infos) {
  const Info& base = infos[0];
  if (type_name(base.dtype).empty())
    throw Error(
        fmt::format("{}: a precomputed volume holds uint8 to uint64, int8 to int32 or float32, but IN is {}; allowed "
                    "for others: .zarr",
                    path, name(base.dtype)));
  for (const Info& info : infos) {
    if (info.dtype != base.dtype)
      throw Error(
          fmt::format("{}: all scales of a precomputed volume have one type, but level 0 is {}, others are {}; "
                      "allowed: a --method that keeps it, or .zarr",
                      path, name(base.dtype), name(info.dtype)));
    if (info.channels != base.channels)
      throw Error(
          fmt::format("{}: all scales of a precomputed volume have {} channels, but a level has {}; allowed: a "
                      "--factor of 1 along c",
                      path, base.channels, info.channels));
  }
}

bool may_be_replaced(const std::string& folder) {
  try {
    const auto text = zarr::read_text_file(folder + "/info", kMostInfo);
    return text && is_scales_only(*text);
  } catch (const Error&) {
    return false;
  }
}

std::string folder_of(const std::string& place, const LevelsSpec& spec, std::size_t level) {
  return place + "/" + spec.image.levels[level].path;
}

class ScalesOut : public LevelsOut {
 public:
  ScalesOut(const std::string& place, const std::string& path, const LevelsSpec& spec)
      : places_(places_of(path, spec)) {
    for (std::size_t l = 0; l < spec.levels.size(); ++l) {
      const std::string folder = folder_of(place, spec, l);
      scales_.push_back(std::make_unique<PrecomputedOut>(folder, folder, path, info_of(path, spec, l),
                                                         placed(spec.levels[l].shape, places_, 1)));
    }
  }

  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    scales_[static_cast<std::size_t>(level)]->write(placed(begin, places_, 0), placed(chunk, places_));
  }
  void write_part(int level, const Extents& begin, const ConstTensor& box) override { write(level, begin, box); }
  void close() override {}
  void complete() const {
    for (const auto& scale : scales_) scale->complete();
  }

 private:
  Places places_;
  std::vector<std::unique_ptr<PrecomputedOut>> scales_;
};

}  // namespace

void prepare_levels(const std::string& path, LevelsSpec& spec) {
  const VolumeSpec& base = spec.levels[0];
  if (base.codec && base.codec->kind != Compression::Kind::none)
    throw Error(
        fmt::format("{}: a precomputed volume is raw or compressed_segmentation; allowed: --codec none, or "
                    "without --codec",
                    path));
  if (!base.shard.empty()) throw Error(fmt::format("{}: written without shards; allowed: --shard for .zarr", path));
  const std::vector<Info> infos = infos_of(path, spec);
  check_alike(path, infos);
  for (std::size_t l = 0; l < infos.size(); ++l) spec.image.levels[l].path = infos[l].scale.key;
}

std::unique_ptr<Output> make_levels_output(const std::string& path) {
  const auto split = split_precomputed_path(path);
  if (split && !split->key.empty())
    throw Error(fmt::format("{}: a scale cannot be written into a volume; allowed: a folder, {}",
                            detail::printable(path), detail::printable(split->folder)));
  return std::make_unique<OutputFolder>(path, "a precomputed volume without meshes and the like", &may_be_replaced);
}

void create_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  const std::string text = to_json(infos_of(path, spec));
  zarr::write_file(place + "/info", std::as_bytes(std::span(text)), path);
  for (std::size_t l = 0; l < spec.levels.size(); ++l) {
    zarr::make_folder(folder_of(place, spec, l), path);
    ChunkWriter::create(folder_of(place, spec, l), path);
  }
}

std::unique_ptr<LevelsOut> open_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  return std::make_unique<ScalesOut>(place, path, spec);
}

void complete_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  const ScalesOut scales(place, path, spec);
  scales.complete();
}

}  // namespace oriel::io::precomputed
