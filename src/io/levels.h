// What holds the levels of a pyramid.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/ome/multiscales.h"
#include "io/output.h"
#include "io/volume.h"
#include "oriel/pyramid.h"

namespace oriel::io {
namespace tiff {
struct Levels;
}

/// What is to be written, level 0 first.
struct LevelsSpec {
  ome::Multiscales image;                      ///< names, axes, and where the elements are
  std::vector<VolumeSpec> levels;              ///< as many as those of `image`
  std::vector<PyramidLevel> plan;              ///< the same levels: their factors, and what their first windows lack
  std::string nodata{};                        ///< the value of elements that are left out, as text; empty: none
  std::shared_ptr<const tiff::Levels> tiff{};  ///< set by the formats of TIFF, when they prepare the levels
};

/// Levels that are being written. Every chunk is written once, from any thread.
class LevelsOut : public PyramidSink {
 public:
  /// Brings to the disk what this process wrote. Throws Error.
  virtual void close() = 0;
};

struct LevelsFormat {
  std::string_view ending;     ///< for errors, e.g. ".zarr"
  index_t whole_channels = 0;  ///< the most channels that a chunk has all of unless other extents are asked for
  index_t plane_chunk = 0;     ///< if not 0: chunks are planes with such sides unless other extents are asked for
  bool planes_only = false;    ///< whether levels have the same planes, so that only y and x become smaller
  bool versions = false;       ///< whether it has those of OME-Zarr
  bool global_grid = false;    ///< whether windows must begin at multiples of the factors from coordinate 0
  /// Whether a path is of this format, by its ending.
  bool (*is)(const std::string& path);
  /// Throws Error, beginning with `path`, for what the format cannot hold; may rename the levels. Null: nothing to do.
  void (*prepare)(const std::string& path, LevelsSpec& spec) = nullptr;
  /// A file, or a folder of files, that appears whole or not at all.
  std::unique_ptr<Output> (*make_output)(const std::string& path);
  /// Makes what is at `place` ready to be written to, in one process. Errors call it `path`.
  void (*create)(const std::string& place, const std::string& path, const LevelsSpec& spec);
  /// What `create` made; several processes may open it at once, and write different elements.
  std::unique_ptr<LevelsOut> (*open)(const std::string& place, const std::string& path, const LevelsSpec& spec);
  /// What is left to do, in one process, when all have closed theirs.
  void (*complete)(const std::string& place, const std::string& path, const LevelsSpec& spec);
};

}  // namespace oriel::io
