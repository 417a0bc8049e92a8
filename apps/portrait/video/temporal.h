// Masks of a video's frames, and the pictures in which their edges are found, steadied over time.
#pragma once

#include <vector>

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// How a video's masks are steadied.
struct SmoothOptions {
  float keep = 0.7F;  ///< share of the last frame's mask where nothing moves; 0: none
  float cut = 0.25F;  ///< a mean difference of brightness beyond which a new scene begins
};

/// Throws Error for values out of range, naming the option of the command.
void check(const SmoothOptions& options);

/// The colours of a picture in the size of a mask, from 0 to 1: what motion is seen in.
Planes motion_colours(const Image& image, index_t height, index_t width);

/// Takes the masks of frames in their order. Where a pixel and its neighbours keep their colours, but for the sensor's
/// noise, the result is keep x (the last result) + (1 - keep) x (the mask); where they change, the mask; between,
/// between. A scene cut, and a mask of another size, start again.
class Smoother {
 public:
  explicit Smoother(const SmoothOptions& options) : options_(options) { check(options); }
  /// `colours` are the frame's, 3 planes of the mask's size.
  Planes next(Planes mask, Planes colours);
  /// How much each pixel of the last mask moved, from 0 to 1; all 1 where it started again.
  const Planes& moved() const { return moved_; }
  /// How often a scene began after the first.
  int cuts() const { return cuts_; }

 private:
  SmoothOptions options_;
  Planes mask_, colours_, moved_;
  int cuts_ = 0;
};

/// Frames without the noise of the sensor where nothing moves, as guides for the edges of alpha: noise in a guide is
/// noise in alpha. Takes frames in their order.
class StillGuide {
 public:
  explicit StillGuide(const SmoothOptions& options) : keep_(options.keep) {}
  /// The guide for `frame`, RGB of its size: where nothing moved keep x (the last guide) + (1 - keep) x (the frame).
  /// `moved` is the smoother's for that frame.
  Image next(const Image& frame, const Planes& moved);
  /// False if guides are the frames themselves.
  bool keeps() const { return keep_ > 0; }

 private:
  float keep_;
  index_t height_ = 0, width_ = 0;
  std::vector<std::uint16_t> mean_;  // of each sample, in 1/128
};

}  // namespace oriel::portrait
