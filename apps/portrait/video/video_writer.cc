#include <algorithm>
#include <filesystem>

#include "apps/portrait/video/video.h"

extern "C" {
#include <libavutil/opt.h>
}

namespace oriel::portrait {
namespace {

// H.264's usual pictures have colours for 2x2 pixels only, so sides are even there: the last row or column repeats.
Image even(const Image& image) {
  Image out(image.height + image.height % 2, image.width + image.width % 2, image.channels);
  for (index_t y = 0; y < out.height; ++y) {
    const std::uint8_t* const from = image.row(std::min(y, image.height - 1));
    std::uint8_t* const to = out.row(y);
    std::copy(from, from + image.width * image.channels, to);
    if (out.width > image.width)
      std::copy(to + (image.width - 1) * image.channels, to + image.width * image.channels,
                to + image.width * image.channels);
  }
  return out;
}

AVPixelFormat frame_format(const VideoTarget& t) {
  if (t.grey) return AV_PIX_FMT_GRAY8;
  return t.alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24;
}

const AVCodec* find_encoder(const VideoTarget& t, bool vp9) {
  const AVCodec* codec = avcodec_find_encoder_by_name(vp9 ? "libvpx-vp9" : "libx264");
  if (codec == nullptr && !t.alpha) codec = avcodec_find_encoder(vp9 ? AV_CODEC_ID_VP9 : AV_CODEC_ID_H264);
  if (codec == nullptr)
    throw Error(fmt::format("{}: FFmpeg was built without an encoder of {}", t.path, vp9 ? "VP9" : "H.264"));
  return codec;
}

}  // namespace

std::string video_format(const std::string& path, bool alpha) {
  std::string ending = std::filesystem::path(path).extension();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (ending == ".webm") return "webm";
  if (ending == ".mkv") return "matroska";
  if (ending != ".mp4" && ending != ".mov")
    throw Error(fmt::format("{}: '{}' is not a video extension; allowed: .mp4, .mov, .mkv, .webm", path, ending));
  if (alpha)
    throw Error(fmt::format("{}: H.264 in {} holds no transparency; allowed: .webm, .mkv, or another --background",
                            path, ending.substr(1)));
  return ending == ".mov" ? "mov" : "mp4";
}

VideoWriter::VideoWriter(const VideoTarget& target, VideoReader& reader, std::vector<std::string>& notes)
    : target_(target), file_(target.path), reader_(reader) {
  if (file_.place().empty())
    throw Error(fmt::format("{}: a video cannot be written there; allowed: a regular file", target.path));
  const std::string format = video_format(target.path, target.alpha);
  const std::string url = "file:" + file_.place();
  AVFormatContext* made = nullptr;
  av_check(avformat_alloc_output_context2(&made, nullptr, format.c_str(), url.c_str()), target.path, "write the video");
  format_.reset(made);
  open_encoder(reader);
  if (codec_->width != target.width || codec_->height != target.height)
    notes.emplace_back("H.264 needs even sides: the last row or column was repeated");
  copy_sound_streams(reader, notes);
  av_check(avio_open(&format_->pb, url.c_str(), AVIO_FLAG_WRITE), target.path, "write the video");
  av_check(avformat_write_header(format_.get(), nullptr), target.path, "write the video");
}

void VideoWriter::open_encoder(VideoReader& reader) {
  const bool vp9 = target_.alpha || std::string_view(format_->oformat->name) == "webm";
  const AVCodec* const encoder = find_encoder(target_, vp9);
  stream_ = av_there(avformat_new_stream(format_.get(), nullptr), target_.path);
  codec_.reset(av_there(avcodec_alloc_context3(encoder), target_.path));
  codec_->width = static_cast<int>(vp9 ? target_.width : target_.width + target_.width % 2);
  codec_->height = static_cast<int>(vp9 ? target_.height : target_.height + target_.height % 2);
  codec_->pix_fmt = target_.alpha ? AV_PIX_FMT_YUVA420P : AV_PIX_FMT_YUV420P;
  codec_->time_base = reader.time_base();
  codec_->framerate = reader.rate();
  codec_->sample_aspect_ratio = reader.pixel_aspect();
  codec_->colorspace = reader.colour_space();
  codec_->color_range = AVCOL_RANGE_MPEG;
  codec_->thread_count = target_.threads;
  if ((format_->oformat->flags & AVFMT_GLOBALHEADER) != 0) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  const int crf = target_.quality > 0 ? target_.quality : vp9 ? 30 : 20;
  av_opt_set_int(codec_->priv_data, "crf", crf, 0);
  if (vp9) {
    av_opt_set(codec_->priv_data, "deadline", "good", 0);
    av_opt_set_int(codec_->priv_data, "cpu-used", 5, 0);
    av_opt_set_int(codec_->priv_data, "row-mt", 1, 0);
    av_opt_set_int(codec_->priv_data, "auto-alt-ref", 0, 0);  // its alpha has none to refer to
  } else {
    av_opt_set(codec_->priv_data, "preset", "veryfast", 0);
  }
  av_check(avcodec_open2(codec_.get(), encoder, nullptr), target_.path, "encode the video");
  av_check(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), target_.path, "encode the video");
  stream_->time_base = codec_->time_base;
  stream_->avg_frame_rate = codec_->framerate;
  stream_->sample_aspect_ratio = codec_->sample_aspect_ratio;
  if (target_.alpha) av_dict_set(&stream_->metadata, "alpha_mode", "1", 0);
  frame_.reset(av_there(av_frame_alloc(), target_.path));
  frame_->format = codec_->pix_fmt;
  frame_->width = codec_->width;
  frame_->height = codec_->height;
  frame_->colorspace = codec_->colorspace;
  frame_->color_range = codec_->color_range;
  packet_.reset(av_there(av_packet_alloc(), target_.path));
}

void VideoWriter::copy_sound_streams(VideoReader& reader, std::vector<std::string>& notes) {
  std::vector<int> kept;
  for (const AVStream* const from : reader.sound()) {
    if (avformat_query_codec(format_->oformat, from->codecpar->codec_id, FF_COMPLIANCE_NORMAL) != 1) {
      notes.push_back(fmt::format("sound in {} was left out, since {} does not support it; .mkv does",
                                  avcodec_get_name(from->codecpar->codec_id), format_->oformat->name));
      continue;
    }
    AVStream* const to = av_there(avformat_new_stream(format_.get(), nullptr), target_.path);
    av_check(avcodec_parameters_copy(to->codecpar, from->codecpar), target_.path, "copy the sound");
    to->codecpar->codec_tag = 0;  // containers have tags of their own
    to->time_base = from->time_base;
    av_dict_copy(&to->metadata, from->metadata, 0);
    sound_.resize(std::max(sound_.size(), static_cast<std::size_t>(from->index) + 1), -1);
    sound_[static_cast<std::size_t>(from->index)] = to->index;
    kept.push_back(from->index);
  }
  reader.keep_sound(kept);
}

void VideoWriter::mux(AVPacket& packet) {
  av_check(av_interleaved_write_frame(format_.get(), &packet), target_.path, "write the video");
}

void VideoWriter::write_sound() {
  const std::vector<const AVStream*> from = reader_.sound();
  while (AvPacket packet = reader_.sound_queue().take()) {
    const int index = packet->stream_index, ours = sound_[static_cast<std::size_t>(index)];
    const auto source = std::find_if(from.begin(), from.end(), [&](const AVStream* s) { return s->index == index; });
    av_packet_rescale_ts(packet.get(), (*source)->time_base, format_->streams[ours]->time_base);
    packet->stream_index = ours;
    packet->pos = -1;
    mux(*packet);
  }
}

void VideoWriter::encode(const AVFrame* frame) {
  av_check(avcodec_send_frame(codec_.get(), frame), target_.path, "encode a frame");
  for (;;) {
    const int got = avcodec_receive_packet(codec_.get(), packet_.get());
    if (got == AVERROR(EAGAIN) || got == AVERROR_EOF) return;
    av_check(got, target_.path, "encode a frame");
    av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
    packet_->stream_index = stream_->index;
    mux(*packet_);
  }
}

void VideoWriter::write(const Frame& frame) {
  write_sound();
  const bool fits = frame.image.width == codec_->width && frame.image.height == codec_->height;
  const Image padded = fits ? Image() : even(frame.image);
  const Image& image = fits ? frame.image : padded;
  if (!scaler_) {
    scaler_.reset(
        av_there(sws_getContext(codec_->width, codec_->height, frame_format(target_), codec_->width, codec_->height,
                                codec_->pix_fmt, SWS_BILINEAR | SWS_FULL_CHR_H_INP | SWS_ACCURATE_RND, nullptr, nullptr,
                                nullptr),
                 target_.path));
    constexpr int one = 1 << 16;
    sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(codec_->colorspace), 1,
                             sws_getCoefficients(codec_->colorspace), 0, 0, one, one);
  }
  av_frame_unref(frame_.get());
  frame_->format = codec_->pix_fmt;
  frame_->width = codec_->width;
  frame_->height = codec_->height;
  frame_->colorspace = codec_->colorspace;
  frame_->color_range = codec_->color_range;
  av_check(av_frame_get_buffer(frame_.get(), 0), target_.path, "encode a frame");
  const std::uint8_t* const from[] = {image.bytes.data()};
  const int pitch[] = {static_cast<int>(image.width * image.channels)};
  av_check(sws_scale(scaler_.get(), from, pitch, 0, codec_->height, frame_->data, frame_->linesize), target_.path,
           "convert a frame");
  frame_->pts = frame.time;
  encode(frame_.get());
}

void VideoWriter::finish() {
  encode(nullptr);
  write_sound();
  av_check(av_write_trailer(format_.get()), target_.path, "write the video");
  av_check(avio_closep(&format_->pb), target_.path, "write the video");
  file_.commit();
}

}  // namespace oriel::portrait
