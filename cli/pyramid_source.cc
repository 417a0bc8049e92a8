#include "cli/pyramid_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "io/hdf5.h"
#include "io/ome/multiscales.h"
#include "io/precomputed/volume.h"
#include "io/volume_formats.h"
#include "quoted.h"

namespace oriel::cli {
namespace {

bool shares(const std::string& path) { return io::split_hdf5_path(path) || path.ends_with(".gz"); }

bool in_order(const Extents& axes) {
  for (int d = 0; d < axes.size(); ++d)
    if (axes[d] != d) return false;
  return true;
}

// IN, or level 0 of a group.
std::string input_path(const PyramidCommand& c) {
  const auto image = io::ome::read_multiscales(c.in);
  return image ? c.in + "/" + image->levels[0].path : c.in;
}

}  // namespace

std::vector<io::FileState> input_states(const PyramidCommand& c) {
  std::string path = c.in;
  try {
    path = input_path(c);
  } catch (const Error&) {  // its metadata are of no image any more, which their states show
  }
  if (const auto hdf5 = io::split_hdf5_path(path)) return {io::state_of(hdf5->file)};
  if (const auto precomputed = io::split_precomputed_path(path)) path = precomputed->folder;
  std::error_code none;
  if (!std::filesystem::is_directory(path, none)) return {io::state_of(path)};
  std::vector<io::FileState> states;
  for (const char* const name : {"/zarr.json", "/.zarray", "/info"}) states.push_back(io::state_of(path + name));
  if (path != c.in && !c.in_place) {  // of the group: adding levels looks at these itself
    for (const char* const name : {"/zarr.json", "/.zattrs"}) states.push_back(io::state_of(c.in + name));
  }
  return states;
}

std::unique_ptr<io::VolumeIn> open_pyramid_input(const PyramidCommand& c) {
  const std::string path = input_path(c);
  if (const auto hdf5 = io::split_hdf5_path(path)) return io::open_hdf5_volume(*hdf5, c.dtype);
  if (const io::VolumeFormat* const format = io::volume_format_of(path)) return format->open(path, c.dtype);
  throw UsageError("oriel pyramid", fmt::format("IN: {} cannot be read in parts; allowed: {}", detail::quoted(c.in),
                                                io::volume_endings()));
}

PyramidFile::PyramidFile(const PyramidCommand& command, const PyramidInput& input, std::unique_ptr<io::VolumeIn> first)
    : command_(command), from_(input.from), is_in_order_(in_order(input.from)), is_shared_(shares(command.in)) {
  free_.push_back(std::move(first));
}

template <class Use>
void PyramidFile::use(const Use& use_it) {
  if (is_shared_) {
    const std::lock_guard lock(mutex_);
    return use_it(*free_.front());
  }
  std::unique_ptr<io::VolumeIn> in;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      in = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!in) in = open_pyramid_input(command_);
  use_it(*in);
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(in));
}

Extents PyramidFile::in_file(const Extents& extents) const {
  Extents there = extents;
  for (int d = 0; d < from_.size(); ++d) there[static_cast<int>(from_[d])] = extents[d];
  return there;
}

void PyramidFile::read(const Extents& begin, const Tensor& to) {
  use([&](io::VolumeIn& in) {
    if (is_in_order_)
      in.read(begin, to);
    else
      in.read(in_file(begin), Tensor(to.data, to.dtype, in_file(to.shape), in_file(to.pitch)));
  });
}

bool PyramidFile::is_uniform(const Extents& begin, const Extents& shape, void* element) {
  bool uniform = false;
  use([&](io::VolumeIn& in) { uniform = in.is_uniform(in_file(begin), in_file(shape), element); });
  return uniform;
}

}  // namespace oriel::cli
