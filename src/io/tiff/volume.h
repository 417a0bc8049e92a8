// TIFF and BigTIFF files: their images, one or all of equal size, read a box at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/volume.h"

namespace oriel::io {

/// Whether a path is `FILE.tif:all` or `FILE.tiff:all`; a file that is there under the whole name is that file.
bool is_tiff_volume(const std::string& path);
/// Whether a path is `FILE.tif`, `FILE.tiff`, or one of these with a page, `FILE.tif:2`.
bool is_tiff_image(const std::string& path);

/// Whether a path is one of is_tiff_image whose samples are no picture's (neither u8 nor u16), so that it is read in
/// boxes only.
bool is_tiff_without_picture(const std::string& path);

/// Whether a path is one of is_tiff_image and a GeoTIFF, whose tags only open_tiff_image keeps for the output.
bool is_geotiff(const std::string& path);

/// All images of `FILE.tif:all` as one tensor: pages, as many axes as the file says, rows, columns, and samples if a
/// pixel has several. Throws Error naming the file.
std::unique_ptr<VolumeIn> open_tiff_volume(const std::string& path, std::optional<Dtype> asked);

/// One image, as read_array gives it: in boxes if its samples are stored as they are read, else whole.
std::unique_ptr<VolumeIn> open_tiff_image(const std::string& path, std::optional<Dtype> asked);

/// Writes a TIFF of the elements that the file at `place` has, which create_npy_volume made, and puts it in its place.
/// With `all` the last two axes are those of pages, as many as the other axes have together, or the last three if the
/// input is a TIFF volume with samples. Else HxW and HxWxC, C from 1 to 4, become one image, other shapes volumes.
void complete_tiff(const std::string& place, const std::string& path, const VolumeSpec& spec, bool all);
/// Throws Error for types and shapes that TIFF does not hold.
void check_tiff(const std::string& path, const VolumeSpec& spec);

}  // namespace oriel::io
