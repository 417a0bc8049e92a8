#include "apps/portrait/camera/agreement.h"

#include <fmt/format.h>
#include <linux/videodev2.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace oriel::portrait {
namespace {

constexpr std::uint32_t kMostSide = 32768;

// Bytes of a whole frame whose rows lie `pitch` bytes apart.
std::size_t bytes_of(std::uint32_t format, std::size_t pitch, std::size_t height) {
  switch (format) {
    case V4L2_PIX_FMT_NV12:
      return pitch * height + pitch * ((height + 1) / 2);
    case V4L2_PIX_FMT_YUV420:
      return pitch * height + 2 * ((pitch / 2) * ((height + 1) / 2));
    default:
      return pitch * height;
  }
}

// What the driver has made of the request.
CameraFormat format_of(const v4l2_pix_format& p, const std::string& path, const std::string& name) {
  if (!is_known_format(p.pixelformat) || p.width < 1 || p.height < 1 || p.width > kMostSide || p.height > kMostSide ||
      p.bytesperline > 8 * kMostSide)
    throw Error(fmt::format("{}: '{}' gives {} of {}x{}; allowed: one of {}, sides from 1 to {}", path, name,
                            format_name(p.pixelformat), p.width, p.height, known_formats(), kMostSide));
  const bool jpeg = p.pixelformat == V4L2_PIX_FMT_MJPEG || p.pixelformat == V4L2_PIX_FMT_JPEG;
  const bool packed = p.pixelformat == V4L2_PIX_FMT_YUYV || p.pixelformat == V4L2_PIX_FMT_UYVY;
  const std::uint32_t even = (p.width + 1) / 2 * 2, pitch = std::max(p.bytesperline, packed ? 2 * even : even);
  return {.mode = {.format = p.pixelformat, .width = p.width, .height = p.height},
          .pitch = jpeg ? 0 : static_cast<index_t>(pitch),
          .frame_bytes = jpeg ? p.sizeimage : bytes_of(p.pixelformat, pitch, p.height),
          .full_range = jpeg || p.quantization == V4L2_QUANTIZATION_FULL_RANGE,
          .rec709 = p.ycbcr_enc == V4L2_YCBCR_ENC_709 ||
                    (p.ycbcr_enc == V4L2_YCBCR_ENC_DEFAULT && p.colorspace == V4L2_COLORSPACE_REC709)};
}

// Frames a second as the driver sets them; 0: it does not say.
double agree_rate(const DeviceHandle& device, double rate) {
  v4l2_streamparm p{};
  p.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  if (!device.ioctl(VIDIOC_G_PARM, &p)) return 0;
  v4l2_fract& time = p.parm.capture.timeperframe;
  if ((p.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) != 0) {
    time = {1000, static_cast<std::uint32_t>(std::lround(rate * 1000))};
    if (!device.ioctl(VIDIOC_S_PARM, &p)) return 0;
  }
  return time.numerator > 0 ? static_cast<double>(time.denominator) / time.numerator : 0;
}

std::string names_of(const std::vector<std::uint32_t>& formats) {
  std::string names;
  for (const std::uint32_t format : formats) names += (names.empty() ? "" : ", ") + format_name(format);
  return names.empty() ? "(none)" : names;
}

}  // namespace

std::optional<DeviceIdentity> identity_of(const DeviceHandle& device) {
  v4l2_capability c{};
  if (!device.ioctl(VIDIOC_QUERYCAP, &c)) return std::nullopt;
  const auto* const card = reinterpret_cast<const char*>(c.card);
  return DeviceIdentity{.name = std::string(card, ::strnlen(card, sizeof c.card)),
                        .capabilities = (c.capabilities & V4L2_CAP_DEVICE_CAPS) != 0 ? c.device_caps : c.capabilities};
}

CameraFormat agree(const DeviceHandle& device, const std::string& path, const std::string& name,
                   const WantedMode& wanted) {
  const std::optional<CameraMode> mode = choose_mode(modes_of(device, wanted), wanted);
  if (!mode)
    throw Error(fmt::format("{}: '{}' has the formats {}; allowed: a camera with one of {}", path, name,
                            names_of(formats_of(device)), known_formats()));
  v4l2_format f{};
  f.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  f.fmt.pix.pixelformat = mode->format;
  f.fmt.pix.width = static_cast<std::uint32_t>(mode->width);
  f.fmt.pix.height = static_cast<std::uint32_t>(mode->height);
  f.fmt.pix.field = V4L2_FIELD_ANY;
  if (!device.ioctl(VIDIOC_S_FMT, &f)) {
    if (errno == EBUSY) throw Error(fmt::format("{}: another program is using it", path));
    throw Error(fmt::format("{}: '{}' refuses {} of {}x{}: {}", path, name, format_name(mode->format), mode->width,
                            mode->height, std::strerror(errno)));
  }
  CameraFormat format = format_of(f.fmt.pix, path, name);
  format.mode.rate = agree_rate(device, wanted.rate);
  return format;
}

}  // namespace oriel::portrait
