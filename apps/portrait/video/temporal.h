// Masks of a video's frames, steadied over time.
#pragma once

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// How a video's masks are steadied.
struct SmoothOptions {
  float keep = 0.7F;    ///< share of the last frame's mask where nothing moves; 0: none
  float still = 0.02F;  ///< a pixel whose brightness differs by less does not move
  float moving = 0.1F;  ///< one that differs by more moves: its mask is the new one
  float cut = 0.25F;    ///< a mean difference of brightness beyond which a new scene begins
};

/// Throws Error for values out of range, naming the option of the command.
void check(const SmoothOptions& options);

/// The brightness of a picture in the size of a mask, from 0 to 1: what motion is seen in.
Planes brightness(const Image& image, index_t height, index_t width);

/// Takes the masks of frames in their order. Where a pixel and its neighbours stay as bright as they were, the result
/// is keep x (the last result) + (1 - keep) x (the mask); where they change, the mask; between, between. A scene cut,
/// and a mask of another size, start again.
class Smoother {
 public:
  explicit Smoother(const SmoothOptions& options) : options_(options) { check(options); }
  /// `light` is the frame's brightness in the mask's size.
  Planes next(Planes mask, Planes light);
  /// How often a scene began after the first.
  int cuts() const { return cuts_; }

 private:
  SmoothOptions options_;
  Planes mask_, light_;
  int cuts_ = 0;
};

}  // namespace oriel::portrait
