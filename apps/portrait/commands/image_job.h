// One picture from a file to a file, as `image` and `folder` do it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

/// A picture that was finished, or not for want of a person.
struct ImageDone {
  index_t width = 0, height = 0;
  Person person;
  std::optional<double> agreement;  ///< of the second look, if there was one
  double least_agreement = 0;
  bool written = false;
  bool first_of_several = false;  ///< pictures in the file
  std::vector<std::string> notes;
  double load = 0;  ///< seconds until the work could begin (network, background); 0 for the pictures of a folder
  double read = 0, segment = 0, edges = 0, write = 0;  ///< seconds
  double all() const { return load + read + segment + edges + write; }
};

/// Reads `in`, writes `out` in the format of `ending`; whole or not at all; nothing if there is no person and that is
/// an error. Throws Error.
ImageDone make_image(const std::string& in, const std::string& out, const std::string& ending, const Asked& asked,
                     const NamedSegmenter& segmenter);

/// What the most likely candidate lacks: area, confidence, or agreement of the parts of the image.
std::string why_no_person(const ImageDone& done, const MaskOptions& options);

/// What `--json` prints of it, but for names of files.
nlohmann::ordered_json json_of(const ImageDone& done);

}  // namespace oriel::portrait
