#include "apps/portrait/commands/camera/devices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/videodev2.h>

#include <optional>

#include "apps/portrait/camera/agreement.h"

namespace oriel::portrait {
namespace {

constexpr int kDevices = 64;  // as many as Linux gives numbers to by default

std::optional<VideoDevice> ask(const std::string& path, const DeviceCalls& calls) {
  VideoDevice found{.path = path, .name = {}};
  try {
    const DeviceHandle device(path, calls, O_RDWR | O_NONBLOCK);
    const std::optional<DeviceIdentity> identity = identity_of(device);
    if (!identity) return std::nullopt;
    found.name = identity->name;
    found.camera = (identity->capabilities & V4L2_CAP_VIDEO_CAPTURE) != 0;
    found.loopback = (identity->capabilities & V4L2_CAP_VIDEO_OUTPUT) != 0;
    if (!found.camera && !found.loopback) return std::nullopt;
    if (found.camera) {
      for (const std::uint32_t format : formats_of(device)) found.formats.push_back(format_name(format));
      found.modes = modes_of(device, {});
    }
  } catch (const Error& e) {
    found.problem = std::string(e.what()).substr(path.size() + 2);
    if (found.problem == "no such device") return std::nullopt;
  }
  return found;
}

}  // namespace

std::vector<VideoDevice> video_devices(const DeviceCalls& calls) {
  std::vector<VideoDevice> devices;
  for (int i = 0; i < kDevices; ++i)
    if (std::optional<VideoDevice> device = ask(fmt::format("/dev/video{}", i), calls))
      devices.push_back(std::move(*device));
  return devices;
}

}  // namespace oriel::portrait
