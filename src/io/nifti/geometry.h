// Where the voxels of a NIfTI file are, and what a header says of the result of a pool.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "io/nifti/header.h"

namespace oriel::io::nifti {

/// Rows of a matrix that takes voxel indices (x, y, z, 1) to a place in space.
using Affine = std::array<std::array<double, 4>, 3>;

/// The matrices of a header; none where its code is 0.
std::optional<Affine> sform_of(const Header& header);
std::optional<Affine> qform_of(const Header& header);

/// The header of the result of the problem of that name on a file with `header`: shape and dtype stay as they are. What
/// is no longer true of the result is left out, and all positions if the problem cannot be read.
Header pooled(Header header, const std::string& problem);

}  // namespace oriel::io::nifti
