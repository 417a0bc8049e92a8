// NIfTI files of both versions, `.nii` and `.nii.gz`, and pairs `.hdr` and `.img`, which are read only.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "io/output.h"
#include "io/volume.h"
#include "oriel/problem.h"

namespace oriel::io {

/// Whether a path ends in .nii, .hdr, .img, or one of these and .gz.
bool is_nifti(const std::string& path);

/// Its elements, x first, as they are in memory for nibabel; scaled by the header's slope and intercept if it has any:
/// then in f32, if they are stored in 8 or 16 bits or as f32, else in f64. Throws Error naming the file.
std::unique_ptr<VolumeIn> open_nifti_volume(const std::string& path, std::optional<Dtype> asked);

/// Lets an input be read as it is stored, and its output in NIfTI have its slope and intercept, if it has any and they
/// may as well be applied to the results of `pool`. Called before anything is read.
void keep_nifti_scaling(VolumeIn& in, const Pool& pool);

/// Where the elements of a NIfTI input are, in the file's units.
struct NiftiSpace {
  std::array<double, 4> spacing{};  ///< of x, y, z and time
  std::string space_unit;           ///< "meter", "millimeter", "micrometer"; empty: not said
  std::string time_unit;            ///< "second", "millisecond", "microsecond"; empty: not said, or another quantity
  double time_offset = 0;
  /// From (x, y, z, 1) to space: the sform's, else the qform's.
  std::optional<std::array<std::array<double, 4>, 3>> affine;
};
/// Nothing for other formats.
std::optional<NiftiSpace> nifti_space(const VolumeIn& in);

/// A temporary file for an output. Throws Error for names of pairs.
std::unique_ptr<Output> make_nifti_output(const std::string& path);
/// Writes the header and room for the elements. A NIfTI input's header is taken over, its positions as the pool moves
/// them. Throws Error for what NIfTI does not hold.
void create_nifti_volume(const std::string& place, const std::string& path, const VolumeSpec& spec);
/// What create_nifti_volume made, to be written to by any number of processes.
std::unique_ptr<VolumeOut> open_nifti_output(const std::string& place, const std::string& path, const VolumeSpec& spec);
/// Compresses the file if its name says so.
void complete_nifti_volume(const std::string& place, const std::string& path, const VolumeSpec& spec);

}  // namespace oriel::io
