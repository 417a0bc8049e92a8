#include "apps/portrait/camera/decoder.h"

#include <linux/videodev2.h>

#include <algorithm>
#include <cstring>

namespace oriel::portrait {
namespace {

constexpr int kUnlikely = 10;  // JPEGs in a row that are corrupt: then this camera's do not follow the standard

AVPixelFormat pixels_of(std::uint32_t format) {
  switch (format) {
    case V4L2_PIX_FMT_YUYV:
      return AV_PIX_FMT_YUYV422;
    case V4L2_PIX_FMT_UYVY:
      return AV_PIX_FMT_UYVY422;
    case V4L2_PIX_FMT_NV12:
      return AV_PIX_FMT_NV12;
    default:
      return AV_PIX_FMT_YUV420P;
  }
}

}  // namespace

CameraDecoder::CameraDecoder(const std::string& path, const CameraFormat& format) : path_(path), format_(format) {
  av_log_set_level(AV_LOG_QUIET);
  frame_.reset(av_there(av_frame_alloc(), path));
  packet_.reset(av_there(av_packet_alloc(), path));
  if (format.is_jpeg()) open_jpeg();
}

void CameraDecoder::open_jpeg() {
  const AVCodec* const decoder = avcodec_find_decoder(AV_CODEC_ID_MJPEG);
  if (decoder == nullptr) throw Error(fmt::format("{}: FFmpeg was built without a decoder of JPEG", path_));
  codec_.reset(av_there(avcodec_alloc_context3(decoder), path_));
  codec_->thread_count = 1;  // more would each hold a frame back
  codec_->flags |= AV_CODEC_FLAG_LOW_DELAY;
  if (strict_) codec_->err_recognition |= AV_EF_EXPLODE;
  av_check(avcodec_open2(codec_.get(), decoder, nullptr), path_, "decode JPEG");
}

bool CameraDecoder::decode_jpeg(const RawFrame& raw) {
  const int size = static_cast<int>(raw.count);
  av_packet_unref(packet_.get());
  av_check(av_new_packet(packet_.get(), size), path_, "decode a frame");  // with the padding that decoders read
  std::memcpy(packet_->data, raw.bytes, raw.count);
  av_frame_unref(frame_.get());
  const bool taken = avcodec_send_packet(codec_.get(), packet_.get()) >= 0;
  const bool got = taken && avcodec_receive_frame(codec_.get(), frame_.get()) >= 0 &&
                   frame_->width == format_.mode.width && frame_->height == format_.mode.height;
  decoded_ = decoded_ || got;
  if (!got && strict_ && !decoded_ && ++refused_ == kUnlikely) {
    strict_ = false;
    open_jpeg();
  }
  return got;
}

void CameraDecoder::point_to(const RawFrame& raw) {
  const auto pitch = static_cast<int>(format_.pitch);
  const auto height = static_cast<std::size_t>(format_.mode.height);
  copy_.resize(raw.count + AV_INPUT_BUFFER_PADDING_SIZE);  // vectors may read beyond the last row
  std::copy_n(raw.bytes, raw.count, copy_.begin());
  std::uint8_t* const bytes = copy_.data();
  std::uint8_t* const chroma = bytes + static_cast<std::size_t>(pitch) * height;
  frame_->format = pixels_of(format_.mode.format);
  frame_->width = static_cast<int>(format_.mode.width);
  frame_->height = static_cast<int>(format_.mode.height);
  frame_->data[0] = bytes;
  frame_->linesize[0] = pitch;
  const bool two = frame_->format == AV_PIX_FMT_NV12, three = frame_->format == AV_PIX_FMT_YUV420P;
  frame_->data[1] = two || three ? chroma : nullptr;
  frame_->linesize[1] = two ? pitch : three ? pitch / 2 : 0;
  frame_->data[2] = three ? chroma + static_cast<std::size_t>(pitch / 2) * ((height + 1) / 2) : nullptr;
  frame_->linesize[2] = three ? pitch / 2 : 0;
}

void CameraDecoder::convert(Image& image) {
  const auto width = static_cast<int>(format_.mode.width), height = static_cast<int>(format_.mode.height);
  if (!scaler_ || scaled_ != frame_->format) {
    scaled_ = frame_->format;
    scaler_.reset(sws_getContext(width, height, static_cast<AVPixelFormat>(frame_->format), width, height,
                                 AV_PIX_FMT_RGB24, SWS_BILINEAR, nullptr, nullptr, nullptr));
    if (!scaler_) throw Error(fmt::format("{}: its frames cannot be converted to RGB", path_));
    constexpr int one = 1 << 16;
    const int* const space = sws_getCoefficients(format_.rec709 ? SWS_CS_ITU709 : SWS_CS_ITU601);
    sws_setColorspaceDetails(scaler_.get(), space, format_.full_range ? 1 : 0, space, 1, 0, one, one);
  }
  image = Image(height, width, 3);
  std::uint8_t* const to[] = {image.bytes.data()};
  const int pitch[] = {3 * width};
  av_check(sws_scale(scaler_.get(), frame_->data, frame_->linesize, 0, height, to, pitch), path_, "convert a frame");
}

bool CameraDecoder::decode(const RawFrame& raw, Image& image) {
  if (!format_.is_jpeg())
    point_to(raw);
  else if (!decode_jpeg(raw))
    return false;
  convert(image);
  return true;
}

}  // namespace oriel::portrait
