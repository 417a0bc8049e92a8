// The formats, sizes and rates that a camera offers, and the choice among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/portrait/camera/device_calls.h"
#include "oriel/types.h"

namespace oriel::portrait {

/// How a camera can give its frames.
struct CameraMode {
  std::uint32_t format = 0;  ///< V4L2's code of four letters
  index_t width = 0, height = 0;
  double rate = 0;  ///< most frames a second; 0: unknown
};

/// What is wanted of a camera.
struct WantedMode {
  index_t width = 0, height = 0;  ///< 0: 1280x720, or smaller if the camera is too slow for that
  double rate = 30;               ///< frames a second
};

/// The four letters of a format, as V4L2's tools print them: YUYV, MJPG.
std::string format_name(std::uint32_t format);

/// Whether frames of that format can be decoded here.
bool is_known_format(std::uint32_t format);

/// Formats that can be decoded here, for errors: `YUYV, UYVY, ...`.
std::string known_formats();

/// All formats that a capture device lists, known or not.
std::vector<std::uint32_t> formats_of(const DeviceHandle& device);

/// The modes of its known formats. A device with a range of sizes has the one nearest to what is wanted.
std::vector<CameraMode> modes_of(const DeviceHandle& device, const WantedMode& wanted);

/// The mode that is nearest to what is wanted: if a size is given, by size and then by rate; otherwise by rate and then
/// by size; of equal ones the format that takes least time to decode. Nothing if there is none.
std::optional<CameraMode> choose_mode(const std::vector<CameraMode>& modes, const WantedMode& wanted);

}  // namespace oriel::portrait
