// The video devices of this machine.
#pragma once

#include <string>
#include <vector>

#include "apps/portrait/camera/modes.h"

namespace oriel::portrait {

/// A device that is there.
struct VideoDevice {
  std::string path, name;
  bool camera = false;                 ///< frames can be read
  bool loopback = false;               ///< frames can be written
  std::vector<std::string> formats{};  ///< of a camera, also those that are not known here
  std::vector<CameraMode> modes{};     ///< of a camera, in known formats
  std::string problem{};               ///< why it cannot be asked; empty: it could
};

/// Those of /dev/video0 to /dev/video63 that are there, except the ones that neither give nor take frames.
std::vector<VideoDevice> video_devices(const DeviceCalls& calls);

}  // namespace oriel::portrait
