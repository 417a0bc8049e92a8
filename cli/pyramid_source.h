// What `oriel pyramid` reads level 0 from.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cli/options.h"
#include "cli/pyramid_options.h"
#include "io/file_identity.h"
#include "io/volume.h"
#include "oriel/pyramid.h"

namespace oriel::cli {

/// IN, or level 0 of the image that it is. Throws Error or UsageError.
std::unique_ptr<io::VolumeIn> open_pyramid_input(const PyramidCommand& command);

/// The files that say what IN is (of a folder those of metadata), as they are now: others if it is changed or removed.
std::vector<io::FileState> input_states(const PyramidCommand& command);

/// A file that is read by several threads: each has it open for itself, but one whose library or whose compression goes
/// through it in order is shared.
class PyramidFile : public PyramidSource {
 public:
  /// `first`: what open_pyramid_input gave.
  PyramidFile(const PyramidCommand& command, const PyramidInput& input, std::unique_ptr<io::VolumeIn> first);

  void read(const Extents& begin, const Tensor& to) override;
  bool is_uniform(const Extents& begin, const Extents& shape, void* element) override;

 private:
  Extents in_file(const Extents& extents) const;
  template <class Use>
  void use(const Use& use_it);

  const PyramidCommand& command_;
  const Extents from_;  // the file's axis that each axis is
  const bool is_in_order_, is_shared_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<io::VolumeIn>> free_;
};

}  // namespace oriel::cli
