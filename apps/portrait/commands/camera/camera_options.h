// The options that only `oriel-portrait camera` has.
#pragma once

#include <CLI/CLI.hpp>

#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

inline constexpr const char* kCameraHelp =
    "Replace the background of a camera's video as it comes, for calls: the result is a camera for other programs. "
    "Without DEVICE: list the video devices";

/// `size` is text such as 1280x720, which the caller parses.
void add_camera_options(CLI::App& camera, CameraCommand& command, std::string& size);

/// Throws Error for options that do not fit together.
void check_camera(const CameraCommand& command);

}  // namespace oriel::portrait
