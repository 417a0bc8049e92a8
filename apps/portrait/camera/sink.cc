#include "apps/portrait/camera/sink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/videodev2.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "apps/portrait/camera/agreement.h"

namespace oriel::portrait {
namespace {

constexpr unsigned kVideoMajor = 81;  // of Linux's video devices

// Frames as YUV of limited range, Rec. 709 from 720 rows on, as players guess.
class Encoder {
 public:
  Encoder(const std::string& path, const SinkFormat& format, index_t width, AVPixelFormat to)
      : path_(path),
        width_(static_cast<int>(width)),
        height_(static_cast<int>(format.height)),
        channels_(format.channels) {
    const AVPixelFormat from = channels_ == 1 ? AV_PIX_FMT_GRAY8 : channels_ == 4 ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24;
    scaler_.reset(sws_getContext(width_, height_, from, width_, height_, to,
                                 SWS_BILINEAR | SWS_FULL_CHR_H_INP | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
    if (!scaler_) throw Error(fmt::format("{}: frames of {}x{} cannot be converted", path, width_, height_));
    constexpr int one = 1 << 16;
    const int* const space = sws_getCoefficients(height_ >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601);
    sws_setColorspaceDetails(scaler_.get(), space, 1, space, 0, 0, one, one);
  }
  void run(const Image& image, std::uint8_t* const to[], const int pitch[]) {
    const std::uint8_t* const from[] = {image.bytes.data()};
    const int rows[] = {static_cast<int>(image.width * channels_)};
    av_check(sws_scale(scaler_.get(), from, rows, 0, height_, to, pitch), path_, "convert a frame");
  }

 private:
  std::string path_;
  int width_, height_;
  index_t channels_;
  AvScaler scaler_;
};

class LoopbackSink final : public FrameSink {
 public:
  LoopbackSink(const std::string& path, const SinkFormat& format, const DeviceCalls& calls)
      : path_(path), calls_(calls), device_(path, calls, O_RDWR), width_(format.width - format.width % 2) {
    ask_capabilities();
    for (const std::uint32_t pixels : {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_YUV420})
      if (agree(pixels, format)) return;
    throw Error(fmt::format("{}: it refuses YUYV and YU12 of {}x{}{}", path, width_, format.height,
                            errno == EBUSY ? ": another program is writing to it" : ""));
  }

  void write(const Image& image) override {
    encoder_->run(image, planes_, pitches_);
    std::size_t done = 0;
    while (done < bytes_.size()) {
      const ssize_t count = calls_.write(device_.number(), bytes_.data() + done, bytes_.size() - done);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (count <= 0) throw Error(fmt::format("{}: cannot write a frame: {}", path_, std::strerror(errno)));
      done += static_cast<std::size_t>(count);
    }
  }
  void finish() override {}

 private:
  void ask_capabilities() {
    const std::optional<DeviceIdentity> identity = identity_of(device_);
    if (!identity) throw Error(fmt::format("{}: not a video device", path_));
    if ((identity->capabilities & V4L2_CAP_VIDEO_OUTPUT) == 0)
      throw Error(fmt::format("{}: not an output device; allowed: a loopback device, which this makes: {}", path_,
                              kLoadLoopback));
  }
  bool agree(std::uint32_t pixels, const SinkFormat& format) {
    v4l2_format f{};
    f.type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
    device_.ioctl(VIDIOC_G_FMT, &f);
    f.fmt.pix.width = static_cast<std::uint32_t>(width_);
    f.fmt.pix.height = static_cast<std::uint32_t>(format.height);
    f.fmt.pix.pixelformat = pixels;
    f.fmt.pix.field = V4L2_FIELD_NONE;
    f.fmt.pix.colorspace = format.height >= 720 ? V4L2_COLORSPACE_REC709 : V4L2_COLORSPACE_SMPTE170M;
    const auto width = static_cast<std::size_t>(width_), height = static_cast<std::size_t>(format.height);
    const bool packed = pixels == V4L2_PIX_FMT_YUYV;
    const std::size_t half = width / 2, half_height = (height + 1) / 2;
    f.fmt.pix.bytesperline = static_cast<std::uint32_t>(packed ? 2 * width : width);
    f.fmt.pix.sizeimage =
        static_cast<std::uint32_t>(packed ? 2 * width * height : width * height + 2 * half * half_height);
    const std::size_t size = f.fmt.pix.sizeimage;
    if (!device_.ioctl(VIDIOC_S_FMT, &f)) return false;
    if (f.fmt.pix.pixelformat != pixels || f.fmt.pix.width != width || f.fmt.pix.height != height) return false;
    bytes_.resize(size);
    planes_[0] = bytes_.data();
    pitches_[0] = static_cast<int>(packed ? 2 * width : width);
    if (!packed) {
      planes_[1] = bytes_.data() + width * height;
      planes_[2] = planes_[1] + half * half_height;
      pitches_[1] = pitches_[2] = static_cast<int>(half);
    }
    encoder_.emplace(path_, format, width_, packed ? AV_PIX_FMT_YUYV422 : AV_PIX_FMT_YUV420P);
    return true;
  }

  std::string path_;
  const DeviceCalls& calls_;
  DeviceHandle device_;
  index_t width_;  // even: two pixels share their colours
  std::optional<Encoder> encoder_;
  std::vector<std::uint8_t> bytes_;
  std::uint8_t* planes_[4] = {};
  int pitches_[4] = {};
};

class StreamSink final : public FrameSink {
 public:
  StreamSink(const std::string& path, const SinkFormat& format, StreamFormat stream) : file_(path) {
    if (stream == StreamFormat::raw) return;
    encoder_.emplace(path, format, format.width, AV_PIX_FMT_YUV420P);
    const auto width = static_cast<std::size_t>(format.width), height = static_cast<std::size_t>(format.height);
    const std::size_t half = (width + 1) / 2, half_height = (height + 1) / 2;
    constexpr std::string_view begin = "FRAME\n";
    bytes_.resize(begin.size() + width * height + 2 * half * half_height);
    std::copy(begin.begin(), begin.end(), bytes_.begin());
    planes_[0] = bytes_.data() + begin.size();
    planes_[1] = planes_[0] + width * height;
    planes_[2] = planes_[1] + half * half_height;
    pitches_[0] = static_cast<int>(width);
    pitches_[1] = pitches_[2] = static_cast<int>(half);
    const std::string head = fmt::format("YUV4MPEG2 W{} H{} F{}:1000 Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED\n", width,
                                         height, std::lround(std::max(format.rate, 0.001) * 1000));
    file_.write(head.data(), head.size());
  }

  void write(const Image& image) override {
    if (!encoder_) return file_.write(image.bytes.data(), image.bytes.size());
    encoder_->run(image, planes_, pitches_);
    file_.write(bytes_.data(), bytes_.size());
  }
  void finish() override { file_.commit(); }

 private:
  io::OutputFile file_;
  std::optional<Encoder> encoder_;
  std::vector<std::uint8_t> bytes_;
  std::uint8_t* planes_[4] = {};
  int pitches_[4] = {};
};

}  // namespace

bool is_video_device(const std::string& path) {
  if (path.starts_with("/dev/video") || path.starts_with("/dev/v4l/")) return true;
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode) && major(info.st_rdev) == kVideoMajor;
}

std::unique_ptr<FrameSink> open_loopback(const std::string& path, const SinkFormat& format, const DeviceCalls& calls) {
  return std::make_unique<LoopbackSink>(path, format, calls);
}

std::unique_ptr<FrameSink> open_stream(const std::string& path, const SinkFormat& format, StreamFormat stream) {
  return std::make_unique<StreamSink>(path, format, stream);
}

}  // namespace oriel::portrait
