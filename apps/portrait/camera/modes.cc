#include "apps/portrait/camera/modes.h"

#include <linux/videodev2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace oriel::portrait {
namespace {

// The quickest to decode first.
constexpr std::array kKnown = {V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_YUV420, V4L2_PIX_FMT_YUYV,
                               V4L2_PIX_FMT_UYVY, V4L2_PIX_FMT_MJPEG,  V4L2_PIX_FMT_JPEG};
constexpr std::uint32_t kMostListed = 256;  // a device that never ends its list is not believed
constexpr index_t kWidth = 1280, kHeight = 720;

std::ptrdiff_t rank_of(std::uint32_t format) {
  return std::find(kKnown.begin(), kKnown.end(), format) - kKnown.begin();
}

double rate_of(const v4l2_fract& interval) {
  return interval.numerator > 0 ? static_cast<double>(interval.denominator) / interval.numerator : 0;
}

double greatest_rate(const DeviceHandle& device, const CameraMode& mode) {
  double rate = 0;
  for (std::uint32_t i = 0; i < kMostListed; ++i) {
    v4l2_frmivalenum one{};
    one.index = i;
    one.pixel_format = mode.format;
    one.width = static_cast<std::uint32_t>(mode.width);
    one.height = static_cast<std::uint32_t>(mode.height);
    if (!device.ioctl(VIDIOC_ENUM_FRAMEINTERVALS, &one)) break;
    if (one.type != V4L2_FRMIVAL_TYPE_DISCRETE) return rate_of(one.stepwise.min);
    rate = std::max(rate, rate_of(one.discrete));
  }
  return rate;
}

index_t nearest(index_t value, std::uint32_t least, std::uint32_t most, std::uint32_t step) {
  const auto low = static_cast<index_t>(least), high = std::max(low, static_cast<index_t>(most));
  const auto by = std::max<index_t>(step, 1);
  return low + (std::clamp(value, low, high) - low) / by * by;
}

void add_sizes(const DeviceHandle& device, std::uint32_t format, const WantedMode& wanted,
               std::vector<CameraMode>& modes) {
  const index_t width = wanted.width > 0 ? wanted.width : kWidth, height = wanted.height > 0 ? wanted.height : kHeight;
  const std::size_t before = modes.size();
  for (std::uint32_t i = 0; i < kMostListed; ++i) {
    v4l2_frmsizeenum one{};
    one.index = i;
    one.pixel_format = format;
    if (!device.ioctl(VIDIOC_ENUM_FRAMESIZES, &one)) break;
    CameraMode mode{.format = format, .width = one.discrete.width, .height = one.discrete.height};
    if (one.type != V4L2_FRMSIZE_TYPE_DISCRETE) {
      const v4l2_frmsize_stepwise& s = one.stepwise;
      mode.width = nearest(width, s.min_width, s.max_width, s.step_width);
      mode.height = nearest(height, s.min_height, s.max_height, s.step_height);
    }
    if (mode.width < 1 || mode.height < 1) continue;
    mode.rate = greatest_rate(device, mode);
    modes.push_back(mode);
    if (one.type != V4L2_FRMSIZE_TYPE_DISCRETE) break;
  }
  if (modes.size() == before) modes.push_back({.format = format, .width = width, .height = height});  // it lists none
}

}  // namespace

std::string format_name(std::uint32_t format) {
  std::string name;
  for (int shift = 0; shift < 32; shift += 8) {
    const auto c = static_cast<char>((format >> shift) & 0x7f);
    name += c > ' ' && c <= '~' ? c : '?';
  }
  return name;
}

bool is_known_format(std::uint32_t format) { return rank_of(format) < std::ssize(kKnown); }

std::string known_formats() {
  std::string names;
  for (const std::uint32_t format : kKnown) names += (names.empty() ? "" : ", ") + format_name(format);
  return names;
}

std::vector<std::uint32_t> formats_of(const DeviceHandle& device) {
  std::vector<std::uint32_t> formats;
  for (std::uint32_t i = 0; i < kMostListed; ++i) {
    v4l2_fmtdesc one{};
    one.index = i;
    one.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (!device.ioctl(VIDIOC_ENUM_FMT, &one)) break;
    formats.push_back(one.pixelformat);
  }
  return formats;
}

std::vector<CameraMode> modes_of(const DeviceHandle& device, const WantedMode& wanted) {
  std::vector<CameraMode> modes;
  for (const std::uint32_t format : formats_of(device))
    if (is_known_format(format)) add_sizes(device, format, wanted, modes);
  return modes;
}

std::optional<CameraMode> choose_mode(const std::vector<CameraMode>& modes, const WantedMode& wanted) {
  const bool sized = wanted.width > 0;
  const auto area = static_cast<double>(sized ? wanted.width * wanted.height : kWidth * kHeight);
  const auto key = [&](const CameraMode& m) {
    const bool other = sized && (m.width != wanted.width || m.height != wanted.height);
    const double size = std::abs(std::log(static_cast<double>(m.width * m.height) / area)) + (other ? 1e-6 : 0);
    const double slow = m.rate > 0 ? std::max(0.95 * wanted.rate - m.rate, 0.0) : 0;  // 29.97 is 30
    return sized ? std::tuple{size, slow, rank_of(m.format)} : std::tuple{slow, size, rank_of(m.format)};
  };
  const auto best = std::min_element(modes.begin(), modes.end(),
                                     [&](const CameraMode& a, const CameraMode& b) { return key(a) < key(b); });
  return best == modes.end() ? std::nullopt : std::optional(*best);
}

}  // namespace oriel::portrait
