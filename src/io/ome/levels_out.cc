#include "io/ome/levels_out.h"

#include <algorithm>
#include <span>

#include "io/output_folder.h"
#include "io/zarr/store.h"
#include "io/zarr/volume.h"

namespace oriel::io::ome {
namespace {

bool is_image(const std::string& path) { return read_multiscales(path).has_value(); }

std::string place_of(const std::string& place, const LevelsSpec& spec, std::size_t level) {
  return place + "/" + spec.image.levels[level].path;
}

// The arrays of a group.
class GroupOut : public LevelsOut {
 public:
  GroupOut(const std::string& place, const std::string& path, const LevelsSpec& spec) {
    for (std::size_t l = 0; l < spec.levels.size(); ++l) {
      arrays_.push_back(open_zarr_output(place_of(place, spec, l), path, spec.levels[l]));
      fills_.push_back(zarr_fill(spec.levels[l]));
    }
  }

  void write(int level, const Extents& begin, const ConstTensor& chunk) override { array(level).write(begin, chunk); }
  void write_part(int level, const Extents& begin, const ConstTensor& box) override { array(level).write(begin, box); }
  void write_uniform(int level, const Extents& begin, const Extents& shape, const void* element, Dtype dtype) override {
    const std::vector<std::byte>& fill = fills_[static_cast<std::size_t>(level)];
    if (std::equal(fill.begin(), fill.end(), static_cast<const std::byte*>(element)))
      array(level).leave_out(begin, shape);
    else
      PyramidSink::write_uniform(level, begin, shape, element, dtype);
  }
  void close() override {
    for (const auto& array : arrays_) array->close();
  }

 private:
  VolumeOut& array(int level) { return *arrays_[static_cast<std::size_t>(level)]; }

  std::vector<std::unique_ptr<VolumeOut>> arrays_;
  std::vector<std::vector<std::byte>> fills_;
};

}  // namespace

bool is_levels_path(const std::string& path) { return zarr::without_slashes(path).ends_with(".zarr"); }

std::unique_ptr<Output> make_levels_output(const std::string& path) {
  return std::make_unique<OutputFolder>(path, "an OME-Zarr image", &is_image);
}

void create_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  for (std::size_t l = 0; l < spec.levels.size(); ++l) {
    zarr::make_folder(place_of(place, spec, l), path);
    create_zarr_volume(place_of(place, spec, l), path, spec.levels[l]);
  }
}

std::unique_ptr<LevelsOut> open_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  return std::make_unique<GroupOut>(place, path, spec);
}

void complete_arrays(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  for (std::size_t l = 0; l < spec.levels.size(); ++l)
    complete_zarr_volume(place_of(place, spec, l), path, spec.levels[l]);
}

void complete_levels(const std::string& place, const std::string& path, const LevelsSpec& spec) {
  complete_arrays(place, path, spec);
  write_group(place, path, spec.image);
}

}  // namespace oriel::io::ome
