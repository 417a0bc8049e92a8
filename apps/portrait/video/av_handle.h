// FFmpeg's objects that free themselves, and its errors as ours.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <fmt/format.h>

#include <memory>
#include <string>

#include "oriel/types.h"

namespace oriel::portrait {

struct FreeAv {
  void operator()(AVFormatContext* p) const {
    if (p->iformat != nullptr) return avformat_close_input(&p);
    if (p->pb != nullptr) avio_closep(&p->pb);
    avformat_free_context(p);
  }
  void operator()(AVCodecContext* p) const { avcodec_free_context(&p); }
  void operator()(AVFrame* p) const { av_frame_free(&p); }
  void operator()(AVPacket* p) const { av_packet_free(&p); }
  void operator()(SwsContext* p) const { sws_freeContext(p); }
};
using AvFormat = std::unique_ptr<AVFormatContext, FreeAv>;
using AvCodec = std::unique_ptr<AVCodecContext, FreeAv>;
using AvFrame = std::unique_ptr<AVFrame, FreeAv>;
using AvPacket = std::unique_ptr<AVPacket, FreeAv>;
using AvScaler = std::unique_ptr<SwsContext, FreeAv>;

inline std::string av_reason(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(error, text, sizeof text);
  return text;
}

/// Throws Error `file: cannot what: reason` where a call of FFmpeg's failed.
inline int av_check(int result, const std::string& file, std::string_view what) {
  if (result < 0) throw Error(fmt::format("{}: cannot {}: {}", file, what, av_reason(result)));
  return result;
}

template <class T>
T* av_there(T* object, const std::string& file) {
  if (object == nullptr) throw Error(fmt::format("{}: not enough memory", file));
  return object;
}

}  // namespace oriel::portrait
