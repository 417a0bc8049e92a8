// Outputs that are none of the files which are read.
#pragma once

#include <string>

#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

/// Throws cli::UsageError, as `command`, if writing `out` would replace a file that is read: the picture or video `in`,
/// unless --replace-input was given, the background, the mask, the weights. Links and hard links are followed.
void check_output(const std::string& command, const std::string& in, const std::string& out, const Asked& asked);

/// The same for a camera `device` and its `--to`.
void check_camera_output(const std::string& command, const std::string& device, const std::string& to,
                         const Asked& asked);

}  // namespace oriel::portrait
