// The formats, besides HDF5, whose tensors are read and written a box at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/output.h"
#include "io/volume.h"

namespace oriel::io {

struct VolumeFormat {
  std::string_view name;     ///< as in "a Zarr array"
  std::string_view endings;  ///< for errors, e.g. ".npy"
  /// Whether it is also read and written whole (files.h), which is done unless boxes are asked for.
  bool whole_too;
  /// Of a format that is also read whole: whether this input is read in boxes only. Null: none is.
  bool (*only_boxes)(const std::string& path);
  /// Whether its tensors are images, which with a bound of memory are still read whole if an output is none in boxes.
  bool images;
  /// Whether a path is of this format, by its ending or by what is there.
  bool (*is)(const std::string& path);
  /// Throws Error naming the file.
  std::unique_ptr<VolumeIn> (*open)(const std::string& path, std::optional<Dtype> asked);
  /// A file, or a folder of files, that appears whole or not at all.
  std::unique_ptr<Output> (*make_output)(const std::string& path);
  /// Makes what is at `place` ready to be written to, in one process. Errors call it `path`.
  void (*create)(const std::string& place, const std::string& path, const VolumeSpec& spec);
  /// What `create` made; several processes may open it at once, and write different boxes.
  std::unique_ptr<VolumeOut> (*open_output)(const std::string& place, const std::string& path, const VolumeSpec& spec);
  /// What is left to do, in one process, when all have closed theirs; null: nothing.
  void (*complete)(const std::string& place, const std::string& path, const VolumeSpec& spec);
};

std::span<const VolumeFormat> volume_formats();

/// The format of a path; null: none of them.
const VolumeFormat* volume_format_of(const std::string& path);

/// The endings of the formats that are read and written in boxes, HDF5's too, for errors: ".npy, .h5, .hdf5".
std::string volume_endings();

}  // namespace oriel::io
