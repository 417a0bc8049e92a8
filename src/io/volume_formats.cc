#include "io/volume_formats.h"

#include <array>

#include "io/files.h"
#include "io/nifti/volume.h"
#include "io/output_file.h"
#include "io/output_folder.h"
#include "io/precomputed/volume.h"
#include "io/tiff/volume.h"
#include "io/zarr/volume.h"

namespace oriel::io {
namespace {

std::unique_ptr<Output> make_file(const std::string& path) { return std::make_unique<OutputFile>(path); }

std::unique_ptr<Output> make_zarr_folder(const std::string& path) {
  return std::make_unique<OutputFolder>(path, "a Zarr array", &is_zarr_array);
}

bool is_npy(const std::string& path) { return path.ends_with(".npy") || path.ends_with(".NPY"); }

std::unique_ptr<Output> make_tiff_image(const std::string& path) {
  if (split_input_path(path).page)
    throw Error(path + ": a page of a TIFF cannot be written; allowed: FILE.tif, FILE.tif:all");
  return std::make_unique<OutputFile>(path);
}

// Elements wait uncompressed, where boxes can be written in any order, until all are there.
void create_tiff(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  check_tiff(path, spec);
  create_npy_volume(place, path, spec);
}
void complete_tiff_volume(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  complete_tiff(place, path, spec, true);
}
void complete_tiff_image(const std::string& place, const std::string& path, const VolumeSpec& spec) {
  complete_tiff(place, path, spec, false);
}

constexpr std::array kFormats{
    VolumeFormat{.name = "a .npy file",
                 .endings = ".npy",
                 .whole_too = true,
                 .only_boxes = nullptr,
                 .images = false,
                 .is = &is_npy,
                 .open = &open_npy_volume,
                 .make_output = &make_file,
                 .create = &create_npy_volume,
                 .open_output = &open_npy_output,
                 .complete = nullptr},
    VolumeFormat{.name = "a Zarr array",
                 .endings = ".zarr",
                 .whole_too = false,
                 .only_boxes = nullptr,
                 .images = false,
                 .is = &is_zarr,
                 .open = &open_zarr_volume,
                 .make_output = &make_zarr_folder,
                 .create = &create_zarr_volume,
                 .open_output = &open_zarr_output,
                 .complete = &complete_zarr_volume},
    VolumeFormat{.name = "a precomputed volume",
                 .endings = ".precomputed",
                 .whole_too = false,
                 .only_boxes = nullptr,
                 .images = false,
                 .is = &is_precomputed,
                 .open = &open_precomputed_volume,
                 .make_output = &make_precomputed_output,
                 .create = &create_precomputed_volume,
                 .open_output = &open_precomputed_output,
                 .complete = &complete_precomputed_volume},
    VolumeFormat{.name = "all images of a TIFF",
                 .endings = ".tif:all",
                 .whole_too = false,
                 .only_boxes = nullptr,
                 .images = false,
                 .is = &is_tiff_volume,
                 .open = &open_tiff_volume,
                 .make_output = &make_file,
                 .create = &create_tiff,
                 .open_output = &open_npy_output,
                 .complete = &complete_tiff_volume},
    VolumeFormat{.name = "a TIFF",
                 .endings = ".tif, .tiff",
                 .whole_too = true,
                 .only_boxes = &is_tiff_without_picture,
                 .images = true,
                 .is = &is_tiff_image,
                 .open = &open_tiff_image,
                 .make_output = &make_tiff_image,
                 .create = &create_tiff,
                 .open_output = &open_npy_output,
                 .complete = &complete_tiff_image},
    VolumeFormat{.name = "a NIfTI file",
                 .endings = ".nii, .nii.gz",
                 .whole_too = false,
                 .only_boxes = nullptr,
                 .images = false,
                 .is = &is_nifti,
                 .open = &open_nifti_volume,
                 .make_output = &make_nifti_output,
                 .create = &create_nifti_volume,
                 .open_output = &open_nifti_output,
                 .complete = &complete_nifti_volume},
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
