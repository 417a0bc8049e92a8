// Videos by FFmpeg's libraries: frames in RGB out of a file, finished ones and the sound into another.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "apps/portrait/video/av_handle.h"
#include "apps/portrait/video/frames.h"
#include "io/output_file.h"

namespace oriel::portrait {

/// Sound on its way from the reader's thread to the writer's.
class SoundQueue {
 public:
  void put(AvPacket packet);
  AvPacket take();  ///< null when there is none

 private:
  std::mutex mutex_;
  std::deque<AvPacket> packets_;
};

/// How much of a video is missing at its end, as far as the file says how much there should be.
struct VideoCut {
  bool early = false;     ///< the file ended before what it says of itself
  index_t frames = 0;     ///< that it should have had
  bool estimate = false;  ///< `frames` follows from a duration
};

/// A video being read. Broken packets are skipped and counted.
class VideoReader {
 public:
  /// Throws Error for a file that is not a video or has no video stream.
  VideoReader(const std::string& path, index_t most_pixels, int threads);

  /// The next frame, upright, RGB; sound that lies before it goes into the queue of those streams that were asked for.
  bool read(Frame& frame);
  void keep_sound(const std::vector<int>& streams) { kept_ = streams; }

  index_t height() const { return turned() ? raw_width_ : raw_height_; }
  index_t width() const { return turned() ? raw_height_ : raw_width_; }
  AVRational time_base() const { return stream_->time_base; }
  AVRational rate() const { return rate_; }
  AVRational pixel_aspect() const;
  AVColorSpace colour_space() const { return space_; }
  /// Frames as the file says, or as its length lets expect; 0: unknown.
  index_t expected_frames() const;
  /// After the last frame: whether the file ended early. By the samples that its index lists (.mp4, .mov), the frames
  /// that its header lists (.avi), else by the duration that its header holds; without either nothing is known and
  /// nothing said.
  VideoCut cut() const;
  std::vector<const AVStream*> sound() const;
  SoundQueue& sound_queue() { return queue_; }
  index_t broken_packets() const { return broken_; }
  const std::string& path() const { return path_; }

 private:
  void open_decoder(index_t most_pixels, int threads);
  bool decode();  // into frame_; false at the end
  bool feed();    // one packet; false at the end of the file
  void note_time(const AVPacket& packet);
  void convert(Image& image);  // frame_ to RGB as it lies in the file
  bool turned() const { return quarter_turns_ % 2 != 0; }

  std::string path_;
  AvFormat format_;
  AVStream* stream_ = nullptr;
  AvCodec codec_;
  AvFrame frame_;
  AvScaler scaler_;
  AVRational rate_{0, 1};
  AVColorSpace space_ = AVCOL_SPC_UNSPECIFIED;
  index_t raw_height_ = 0, raw_width_ = 0;
  int quarter_turns_ = 0;  // clockwise, to stand upright
  std::int64_t last_time_ = AV_NOPTS_VALUE;
  std::vector<int> kept_;
  SoundQueue queue_;
  index_t broken_ = 0;
  index_t packets_ = 0;  // of the video stream
  double last_end_ = 0;  // seconds, of any stream
  bool ended_ = false;
};

/// How a video is to be written.
struct VideoTarget {
  std::string path;
  index_t height = 0, width = 0;
  bool alpha = false;  ///< frames are RGBA, else RGB
  bool grey = false;   ///< frames are masks
  int quality = 0;     ///< 0: the encoder's usual one
  int threads = 0;
};

/// The container that a video's ending names, and whether it can be what is asked. Throws Error.
std::string video_format(const std::string& path, bool alpha);

/// A video being written beside its name, which it gets at the end.
class VideoWriter {
 public:
  /// Sound of the reader that fits the container is copied; `notes` says what does not.
  VideoWriter(const VideoTarget& target, VideoReader& reader, std::vector<std::string>& notes);

  void write(const Frame& frame);
  void finish();

 private:
  void open_encoder(VideoReader& reader);
  void copy_sound_streams(VideoReader& reader, std::vector<std::string>& notes);
  void encode(const AVFrame* frame);
  void write_sound();
  void mux(AVPacket& packet);

  VideoTarget target_;
  io::OutputFile file_;
  VideoReader& reader_;
  AvFormat format_;
  AVStream* stream_ = nullptr;
  AvCodec codec_;
  AvFrame frame_;
  AvPacket packet_;
  AvScaler scaler_;
  std::vector<int> sound_;  // by the reader's stream: ours, or -1
};

}  // namespace oriel::portrait
