// Frames of a video through the chain: several at once, in order, in bounded memory.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>

#include "apps/portrait/chain/look.h"
#include "apps/portrait/video/temporal.h"

namespace oriel::portrait {

/// One frame on its way.
struct Frame {
  Image image;            ///< RGB; after the chain the finished picture, in Look::channels()
  std::int64_t time = 0;  ///< when it is shown, in the source's units
};

/// Seconds spent in each step, summed over frames and threads.
struct StageSeconds {
  double decode = 0;   ///< a frame is read and converted to RGB
  double network = 0;  ///< its mask, with the reduction to the network's size
  double smooth = 0;   ///< the mask is smoothed over time
  double matte = 0;    ///< the alpha of each pixel
  double compose = 0;  ///< the finished picture
  double write = 0;    ///< it is converted, encoded and written

  /// Each step's name and its milliseconds for each of `frames` frames.
  std::array<std::pair<const char*, double>, 6> each(index_t frames) const;
};

/// `decode 4.1, network 6.0, ...`: milliseconds for each frame, for --timing.
std::string timing_line(const StageSeconds& stages, index_t frames);

/// What was seen on the way.
struct FrameCount {
  index_t frames = 0;
  index_t without_person = 0;
  int scene_cuts = 0;
  StageSeconds stages{};
};

/// Reads frames until `read` gives false, and hands them finished to `write`, in order. Both are called by one thread
/// at a time; masks and edges of at most `at_once` frames are made beside each other, and no more frames are in memory
/// (0: twice the threads). A frame without a person is as look.no_person says; fail is an Error naming the frame.
FrameCount run_frames(const std::function<bool(Frame&)>& read, const Segmenter& segmenter, const Look& look,
                      const SmoothOptions& smooth, const std::function<void(Frame&&)>& write, int at_once = 0);

}  // namespace oriel::portrait
