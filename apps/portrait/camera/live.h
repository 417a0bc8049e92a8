// A camera's frames through the chain as they come: the newest is next, those that are late are dropped.
#pragma once

#include <atomic>

#include "apps/portrait/camera/decoder.h"
#include "apps/portrait/camera/sink.h"
#include "apps/portrait/video/frames.h"

namespace oriel::portrait {

/// What happens to frames, and for how long.
struct LiveOptions {
  Look look{};
  SmoothOptions smooth{};
  index_t most_frames = 0;                  ///< after which it ends; 0: it goes on
  std::chrono::milliseconds silence{5000};  ///< without a frame that can be decoded, after which a camera is given up
};

/// Why it ended.
enum class LiveEnd : std::uint8_t { stopped, enough, end, unplugged, silent };

/// What was seen so far. Latency is from a frame's date, which the driver gives, until the result is written.
struct LiveReport {
  index_t frames = 0;      ///< written
  index_t dropped = 0;     ///< that came while others were worked on, or for which the driver had no memory
  index_t incomplete = 0;  ///< that the device marked as faulty or cut short
  index_t corrupt = 0;     ///< JPEGs that could not be decoded
  index_t without_person = 0;
  int scene_cuts = 0;
  double seconds = 0;        ///< from the first frame's arrival
  double rate = 0;           ///< frames a second in the last two seconds; at the end in all
  double latency = 0;        ///< milliseconds, median of the last two seconds; at the end of all
  double worst_latency = 0;  ///< milliseconds, after the first second
  StageSeconds stages{};
  LiveEnd end = LiveEnd::stopped;
};

/// Runs until `stop`, the last frame that is asked for, or the end of the device. `seen` is called after each frame.
/// Each frame is worked on by all threads. Throws Error if the device or the output fails.
LiveReport run_live(Capture& capture, CameraDecoder& decoder, const Segmenter& segmenter, const LiveOptions& options,
                    FrameSink& sink, const std::atomic<bool>& stop,
                    const std::function<void(const LiveReport&)>& seen = {});

}  // namespace oriel::portrait
