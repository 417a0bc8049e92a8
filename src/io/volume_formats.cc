#include "io/volume_formats.h"

#include <array>

#include "io/output_file.h"
#include "io/output_folder.h"
#include "io/zarr/volume.h"

namespace oriel::io {
namespace {

std::unique_ptr<Output> make_file(const std::string& path) { return std::make_unique<OutputFile>(path); }

std::unique_ptr<Output> make_zarr_folder(const std::string& path) {
  return std::make_unique<OutputFolder>(path, "a Zarr array", &is_zarr_array);
}

bool is_npy(const std::string& path) { return path.ends_with(".npy") || path.ends_with(".NPY"); }

constexpr std::array kFormats{
    VolumeFormat{.name = "a .npy file",
                 .endings = ".npy",
                 .whole_too = true,
                 .is = &is_npy,
                 .open = &open_npy_volume,
                 .make_output = &make_file,
                 .create = &create_npy_volume,
                 .open_output = &open_npy_output,
                 .complete = nullptr},
    VolumeFormat{.name = "a Zarr array",
                 .endings = ".zarr",
                 .whole_too = false,
                 .is = &is_zarr,
                 .open = &open_zarr_volume,
                 .make_output = &make_zarr_folder,
                 .create = &create_zarr_volume,
                 .open_output = &open_zarr_output,
                 .complete = &complete_zarr_volume},
};

}  // namespace

std::span<const VolumeFormat> volume_formats() { return kFormats; }

const VolumeFormat* volume_format_of(const std::string& path) {
  for (const VolumeFormat& format : kFormats)
    if (format.is(path)) return &format;
  return nullptr;
}

std::string volume_endings() {
  std::string all;
  for (const VolumeFormat& format : kFormats) all += std::string(format.endings) + ", ";
  return all + ".h5, .hdf5";
}

}  // namespace oriel::io
