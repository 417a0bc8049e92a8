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

/// What is to be written, level 0 first.
struct LevelsSpec {
  ome::Multiscales image;          ///< names, axes, and where the elements are
  std::vector<VolumeSpec> levels;  ///< as many as those of `image`
};

/// Levels that are being written. Every chunk is written once, from any thread.
class LevelsOut : public PyramidSink {
 public:
  /// Brings to the disk what this process wrote. Throws Error.
  virtual void close() = 0;
};

struct LevelsFormat {
  std::string_view ending;  ///< for errors, e.g. ".zarr"
  /// Whether a path is of this format, by its ending.
  bool (*is)(const std::string& path);
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
