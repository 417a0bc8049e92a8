// Arrays in Zarr stores that are folders, versions 2 and 3, read and written a box at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/volume.h"

namespace oriel::io {

/// Whether a path is one of Zarr: by an ending of it or of a folder in it, `.zarr`, or by metadata that are there.
bool is_zarr(const std::string& path);
/// Whether a folder is a Zarr array, which may be replaced.
bool is_zarr_array(const std::string& path);

/// The array in a folder. Throws Error; for a group one that lists its arrays.
std::unique_ptr<VolumeIn> open_zarr_volume(const std::string& path, std::optional<Dtype> asked);

/// Writes the metadata of an array, its chunks compressed by zstd unless `spec` says otherwise, into the folder
/// `place`.
void create_zarr_volume(const std::string& place, const std::string& path, const VolumeSpec& spec);
/// One element: the fill value of the array that create_zarr_volume makes.
std::vector<std::byte> zarr_fill(const VolumeSpec& spec);
/// What create_zarr_volume made, to be written to by any number of processes.
std::unique_ptr<VolumeOut> open_zarr_output(const std::string& place, const std::string& path, const VolumeSpec& spec);
/// Compresses the chunks that were written in parts.
void complete_zarr_volume(const std::string& place, const std::string& path, const VolumeSpec& spec);

}  // namespace oriel::io
