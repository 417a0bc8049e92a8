#include "io/hdf5_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "io/assembled_file.h"
#include "io/hdf5.h"
#include "io/zarr/store.h"

namespace oriel::io {
namespace {

struct Length {
  std::string_view unit;
  double micrometers;
};
constexpr std::array kLengths{Length{"picometer", 1e-6}, Length{"angstrom", 1e-4},  Length{"nanometer", 1e-3},
                              Length{"micrometer", 1},   Length{"millimeter", 1e3}, Length{"centimeter", 1e4},
                              Length{"meter", 1e6},      Length{"kilometer", 1e9}};

std::string waiting(const std::string& place, std::size_t level) { return fmt::format("{}/{}.npy", place, level); }

// Each level in a file of its own, where boxes can be written in any order.
class WaitingLevels : public LevelsOut {
 public:
  WaitingLevels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
    for (std::size_t l = 0; l < spec.levels.size(); ++l)
      arrays_.push_back(open_npy_output(waiting(place, l), path, spec.levels[l]));
  }

  void write(int level, const Extents& begin, const ConstTensor& chunk) override {
    arrays_[static_cast<std::size_t>(level)]->write(begin, dense(chunk).view);
  }
  void write_part(int level, const Extents& begin, const ConstTensor& box) override { write(level, begin, box); }
  void close() override {
    for (const auto& array : arrays_) array->close();
  }

 private:
  std::vector<std::unique_ptr<VolumeOut>> arrays_;
};

bool is_hdf5(const std::string& path) { return split_hdf5_path(path).has_value(); }

// That of IN's dataset would be the file's, so it is deflate that all readers have.
Compression codec_of(const VolumeSpec& level) {
  return level.codec.value_or(Compression{.kind = Compression::Kind::gzip, .level = 1});
}

void prepare(const std::string& path, LevelsSpec& spec) {
  const VolumeSpec& base = spec.levels[0];
  const Compression codec = codec_of(base);
  if (codec.kind != Compression::Kind::gzip && codec.kind != Compression::Kind::none)
    throw Error(fmt::format("{}: HDF5 files are compressed by gzip; allowed: --codec none, gzip:0-9", path));
  if (!base.shard.empty()) throw Error(fmt::format("{}: written without shards; allowed: --shard for .zarr", path));
  for (std::size_t l = 0; l < spec.levels.size(); ++l) {
    VolumeSpec& level = spec.levels[l];
    level.codec = codec;
    // No chunk is larger than a dataset of fixed extents.
    for (int d = 0; d < level.shape.size(); ++d)
      level.chunk[d] = std::clamp<index_t>(level.chunk[d], 1, level.shape[d]);
    spec.image.levels[l].path = "/" + spec.image.levels[l].path;
  }
}

bool is_level_name(const std::string& dataset) {
  return dataset.size() > 1 &&
         std::all_of(dataset.begin() + 1, dataset.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::unique_ptr<Output> make_output(const std::string& path) {
  const Hdf5Path split = *split_hdf5_path(path);
  if (!split.dataset.empty())
    throw Error(fmt::format("{}: levels are the datasets /0, /1 … of a file; allowed: {}", path, split.file));
  const std::vector<std::string> there = hdf5_datasets(path);
  const auto other = std::find_if_not(there.begin(), there.end(), is_level_name);
  if (other != there.end())
    throw Error(fmt::format("{}: has the dataset {}; allowed: a new file, or one of levels alone, which is replaced",
                            path, *other));
  return std::make_unique<AssembledFile>(path);
}

void create(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  for (std::size_t l = 0; l < spec.levels.size(); ++l) {
    zarr::write_file(waiting(place, l), {}, path);
    create_npy_volume(waiting(place, l), path, spec.levels[l]);
  }
}

std::unique_ptr<LevelsOut> open(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  return std::make_unique<WaitingLevels>(place, path, spec);
}

// Micrometers along the last three axes, as ilastik and ImageJ's plugins have them; empty: not all are known.
std::vector<double> micrometers(const LevelsSpec& spec, const ome::Level& level) {
  std::vector<double> found(3, 1);
  for (std::size_t d = 0; d < spec.image.axes.size(); ++d) {
    const ome::Axis& axis = spec.image.axes[d];
    const auto* const length =
        std::find_if(kLengths.begin(), kLengths.end(), [&](const Length& l) { return l.unit == axis.unit; });
    const std::size_t from_last = spec.image.axes.size() - 1 - d;
    if (axis.type != "space") continue;
    if (length == kLengths.end() || from_last > 2) return {};
    found[2 - from_last] = level.scale[d] * length->micrometers;
  }
  return found;
}

void complete(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  const std::string whole = AssembledFile::whole(place);
  for (std::size_t l = 0; l < spec.levels.size(); ++l) {
    const ome::Level& level = spec.image.levels[l];
    const Hdf5Path dataset{path, level.path};
    const auto values = open_npy_volume(waiting(place, l), spec.levels[l].dtype);
    write_hdf5_volume(whole, dataset, spec.levels[l], l == 0, *values);
    Hdf5Description about{
        .axes = {}, .spacing = micrometers(spec, level), .scale = level.scale, .translation = level.translation};
    for (const ome::Axis& axis : spec.image.axes) about.axes.push_back(axis.name);
    describe_hdf5_dataset(whole, dataset, about);
  }
}

constexpr LevelsFormat kHdf5{.ending = ".h5",
                             .is = &is_hdf5,
                             .prepare = &prepare,
                             .make_output = &make_output,
                             .create = &create,
                             .open = &open,
                             .complete = &complete};

}  // namespace

const LevelsFormat& hdf5_levels() { return kHdf5; }

}  // namespace oriel::io
