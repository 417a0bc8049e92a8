// What a device is, and what is agreed with the driver of a camera.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "apps/portrait/camera/modes.h"

namespace oriel::portrait {

/// A device as its driver describes it.
struct DeviceIdentity {
  std::string name;
  std::uint32_t capabilities = 0;  ///< V4L2_CAP_... of this device, not of its siblings
};

/// Nothing if it is not a video device.
std::optional<DeviceIdentity> identity_of(const DeviceHandle& device);

/// What a camera gives.
struct CameraFormat {
  CameraMode mode;
  index_t pitch = 0;            ///< bytes from row to row of the first plane; of JPEGs 0
  std::size_t frame_bytes = 0;  ///< of a whole frame; of JPEGs the most
  bool full_range = false;      ///< luma from 0 to 255 instead of 16 to 235
  bool rec709 = false;          ///< colours by Rec. 709 instead of Rec. 601
  bool is_jpeg() const { return pitch == 0; }
};

/// Sets the mode that is nearest to what is wanted, as far as the driver allows. `path` and `name` are what errors call
/// the camera. Throws Error: in use, no format that is known, a size that cannot be.
CameraFormat agree(const DeviceHandle& device, const std::string& path, const std::string& name,
                   const WantedMode& wanted);

}  // namespace oriel::portrait
