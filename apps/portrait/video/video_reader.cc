#include <algorithm>
#include <cmath>
#include <string_view>

#include "apps/portrait/image/turn.h"
#include "apps/portrait/video/video.h"

extern "C" {
#include <libavutil/display.h>
}

namespace oriel::portrait {
namespace {

// Quarter turns clockwise that the file asks players for.
int turns_of(const AVStream& stream) {
  const auto* const matrix =
      reinterpret_cast<const std::int32_t*>(av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
  if (matrix == nullptr) return 0;
  const double degrees = -av_display_rotation_get(matrix);  // FFmpeg counts against the clock
  return std::isnan(degrees) ? 0 : static_cast<int>(((std::lround(degrees / 90) % 4) + 4) % 4);
}

}  // namespace

void SoundQueue::put(AvPacket packet) {
  const std::lock_guard lock(mutex_);
  packets_.push_back(std::move(packet));
}

AvPacket SoundQueue::take() {
  const std::lock_guard lock(mutex_);
  if (packets_.empty()) return nullptr;
  AvPacket packet = std::move(packets_.front());
  packets_.pop_front();
  return packet;
}

VideoReader::VideoReader(const std::string& path, index_t most_pixels, int threads) : path_(path) {
  av_log_set_level(AV_LOG_QUIET);          // its lines would mix with the program's own
  const std::string url = "file:" + path;  // a name with a colon is a name, not a protocol
  AVFormatContext* format = nullptr;
  av_check(avformat_open_input(&format, url.c_str(), nullptr, nullptr), path, "read the video");
  format_.reset(format);
  av_check(avformat_find_stream_info(format, nullptr), path, "read the video");
  open_decoder(most_pixels, threads);
}

void VideoReader::open_decoder(index_t most_pixels, int threads) {
  const AVCodec* decoder = nullptr;
  const int found = av_find_best_stream(format_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
  if (found < 0 || (format_->streams[found]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0)
    throw Error(fmt::format("{}: it has no video stream; allowed: a video", path_));
  stream_ = format_->streams[found];
  codec_.reset(av_there(avcodec_alloc_context3(decoder), path_));
  av_check(avcodec_parameters_to_context(codec_.get(), stream_->codecpar), path_, "read the video");
  codec_->thread_count = threads;
  codec_->pkt_timebase = stream_->time_base;
  av_check(avcodec_open2(codec_.get(), decoder, nullptr), path_, "decode the video");
  raw_height_ = codec_->height;
  raw_width_ = codec_->width;
  if (raw_height_ < 1 || raw_width_ < 1)
    throw Error(fmt::format("{}: its frames have {}x{} pixels; allowed: at least 1x1", path_, raw_width_, raw_height_));
  if (raw_height_ * raw_width_ > most_pixels)
    throw Error(fmt::format("{}: its frames have {}x{} pixels; allowed: at most {} million", path_, raw_width_,
                            raw_height_, most_pixels / 1'000'000));
  space_ = codec_->colorspace;
  if (space_ == AVCOL_SPC_UNSPECIFIED || space_ == AVCOL_SPC_RGB)
    space_ = raw_height_ >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;  // as players guess
  rate_ = av_guess_frame_rate(format_.get(), stream_, nullptr);
  quarter_turns_ = turns_of(*stream_);
  frame_.reset(av_there(av_frame_alloc(), path_));
}

AVRational VideoReader::pixel_aspect() const {
  const AVRational aspect = av_guess_sample_aspect_ratio(format_.get(), stream_, nullptr);
  if (aspect.num <= 0 || aspect.den <= 0) return {1, 1};
  return turned() ? AVRational{aspect.den, aspect.num} : aspect;
}

index_t VideoReader::expected_frames() const {
  if (stream_->nb_frames > 0) return stream_->nb_frames;
  const double seconds = stream_->duration > 0
                             ? static_cast<double>(stream_->duration) * av_q2d(stream_->time_base)
                             : static_cast<double>(std::max<std::int64_t>(format_->duration, 0)) / AV_TIME_BASE;
  return rate_.num > 0 ? std::llround(seconds * av_q2d(rate_)) : 0;
}

VideoCut VideoReader::cut() const {
  const std::string_view format = format_->iformat->name;
  if (format.find("mov") != std::string_view::npos) {
    const int samples = avformat_index_get_entries_count(stream_);
    if (samples > 0) return {.early = packets_ < samples, .frames = samples, .estimate = false};
  }
  double end = 0;
  if (format == "avi" && stream_->nb_frames > 0) {  // whose duration FFmpeg shortens to what is there
    end = static_cast<double>(stream_->nb_frames) * av_q2d(stream_->time_base);
  } else if (format_->duration > 0 && format_->duration_estimation_method == AVFMT_DURATION_FROM_STREAM) {
    end = static_cast<double>(format_->duration) / AV_TIME_BASE;
  }
  // Headers round, a last packet need not say how long it is shown, and some count from 0, others from the first frame.
  const double frame = rate_.num > 0 ? av_q2d(av_inv_q(rate_)) : 0;
  return {.early = last_end_ + 0.25 + 2 * frame < end, .frames = expected_frames(), .estimate = true};
}

std::vector<const AVStream*> VideoReader::sound() const {
  std::vector<const AVStream*> streams;
  for (unsigned i = 0; i < format_->nb_streams; ++i)
    if (format_->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) streams.push_back(format_->streams[i]);
  return streams;
}

void VideoReader::note_time(const AVPacket& packet) {
  if (packet.stream_index == stream_->index) ++packets_;
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (time == AV_NOPTS_VALUE) return;
  const AVRational base = format_->streams[packet.stream_index]->time_base;
  last_end_ =
      std::max(last_end_, static_cast<double>(time + std::max<std::int64_t>(packet.duration, 0)) * av_q2d(base));
}

bool VideoReader::feed() {
  AvPacket packet(av_there(av_packet_alloc(), path_));
  const int got = av_read_frame(format_.get(), packet.get());
  if (got < 0) {
    if (got != AVERROR_EOF) ++broken_;
    return false;
  }
  note_time(*packet);
  if (packet->stream_index != stream_->index) {
    if (std::find(kept_.begin(), kept_.end(), packet->stream_index) != kept_.end()) queue_.put(std::move(packet));
    return true;
  }
  if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0 || avcodec_send_packet(codec_.get(), packet.get()) < 0) ++broken_;
  return true;
}

bool VideoReader::decode() {
  for (;;) {
    const int got = avcodec_receive_frame(codec_.get(), frame_.get());
    if (got >= 0) return true;
    if (got == AVERROR_EOF) return false;
    if (got != AVERROR(EAGAIN)) {
      ++broken_;
      if (ended_) return false;
    }
    if (ended_) return false;
    if (!feed()) {
      ended_ = true;
      if (avcodec_send_packet(codec_.get(), nullptr) < 0) return false;
    }
  }
}

void VideoReader::convert(Image& image) {
  scaler_.reset(sws_getCachedContext(scaler_.release(), frame_->width, frame_->height,
                                     static_cast<AVPixelFormat>(frame_->format), static_cast<int>(raw_width_),
                                     static_cast<int>(raw_height_), AV_PIX_FMT_RGB24,
                                     SWS_BILINEAR | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND, nullptr, nullptr, nullptr));
  if (!scaler_) throw Error(fmt::format("{}: its frames have a pixel format that cannot be converted to RGB", path_));
  const bool full = frame_->color_range == AVCOL_RANGE_JPEG;
  constexpr int one = 1 << 16;
  sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(space_), full ? 1 : 0, sws_getCoefficients(space_), 1, 0,
                           one, one);
  image = Image(raw_height_, raw_width_, 3);
  std::uint8_t* const to[] = {image.bytes.data()};
  const int pitch[] = {static_cast<int>(3 * raw_width_)};
  av_check(sws_scale(scaler_.get(), frame_->data, frame_->linesize, 0, frame_->height, to, pitch), path_,
           "convert a frame");
}

bool VideoReader::read(Frame& frame) {
  if (!decode()) return false;
  convert(frame.image);
  if (quarter_turns_ != 0) frame.image = turned_clockwise(frame.image, quarter_turns_);
  std::int64_t time = frame_->best_effort_timestamp;
  const std::int64_t step =
      rate_.num > 0 ? std::max<std::int64_t>(av_rescale_q(1, av_inv_q(rate_), stream_->time_base), 1) : 1;
  if (time == AV_NOPTS_VALUE) time = last_time_ == AV_NOPTS_VALUE ? 0 : last_time_ + step;
  if (last_time_ != AV_NOPTS_VALUE && time <= last_time_) time = last_time_ + 1;  // encoders need times that rise
  last_time_ = frame.time = time;
  return true;
}

}  // namespace oriel::portrait
