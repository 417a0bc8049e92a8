// Where a camera's finished frames go: a loopback device, or a stream of frames.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/portrait/camera/device_calls.h"
#include "apps/portrait/image/plane.h"
#include "apps/portrait/video/av_handle.h"
#include "io/output_file.h"

namespace oriel::portrait {

/// What is written into a stream.
enum class StreamFormat : std::uint8_t {
  y4m,  ///< YUV4MPEG2 with 4:2:0, which carries its size and rate
  raw,  ///< samples as they are: grey, RGB or RGBA
};

/// What the frames are like.
struct SinkFormat {
  index_t height = 0, width = 0, channels = 3;
  double rate = 30;  ///< frames a second that are announced
};

/// Takes finished frames in their order.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  virtual void write(const Image& image) = 0;
  virtual void finish() = 0;  ///< no further frame
};

/// Whether a name is one of a video device rather than of a file or pipe.
bool is_video_device(const std::string& path);

/// A v4l2loopback device, which other programs use as a camera. Throws Error: no such device, not an output device
/// (with the command that makes one).
std::unique_ptr<FrameSink> open_loopback(const std::string& path, const SinkFormat& format, const DeviceCalls& calls);

/// A file, which appears whole at finish(); a pipe, or `-` for standard output, which gets each frame at once.
std::unique_ptr<FrameSink> open_stream(const std::string& path, const SinkFormat& format, StreamFormat stream);

/// The command that makes a loopback device, for errors.
inline constexpr const char* kLoadLoopback = "sudo modprobe v4l2loopback exclusive_caps=1 card_label=Oriel";

}  // namespace oriel::portrait
