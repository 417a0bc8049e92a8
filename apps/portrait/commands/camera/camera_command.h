// `oriel-portrait camera` with devices of the caller's.
#pragma once

#include "apps/portrait/camera/device_calls.h"
#include "apps/portrait/commands/options.h"

namespace oriel::portrait {

/// The command; returns its exit code. Throws Error, or cli::UsageError.
int run_camera(CameraCommand command, const DeviceCalls& calls);

}  // namespace oriel::portrait
