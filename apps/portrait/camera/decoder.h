// Frames of a camera as RGB images.
#pragma once

#include "apps/portrait/camera/capture.h"
#include "apps/portrait/image/plane.h"
#include "apps/portrait/video/av_handle.h"

namespace oriel::portrait {

/// Decodes frames of one camera, in their order.
class CameraDecoder {
 public:
  /// `path` is what errors call the camera.
  CameraDecoder(const std::string& path, const CameraFormat& format);

  /// RGB, in the size that was agreed on. False for a JPEG that is corrupt or has another size. Throws Error.
  bool decode(const RawFrame& raw, Image& image);

 private:
  void open_jpeg();
  bool decode_jpeg(const RawFrame& raw);
  void point_to(const RawFrame& raw);  // frame_ at rows of a copy
  void convert(Image& image);

  std::string path_;
  CameraFormat format_;
  AvCodec codec_;
  AvFrame frame_;
  AvPacket packet_;
  std::vector<std::uint8_t> copy_;
  AvScaler scaler_;
  int scaled_ = AV_PIX_FMT_NONE;  // what the scaler was made for
  bool strict_ = true;            // corrupt JPEGs are dropped instead of repaired
  bool decoded_ = false;
  int refused_ = 0;  // before the first that was decoded
};

}  // namespace oriel::portrait
