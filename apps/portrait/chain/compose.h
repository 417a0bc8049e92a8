// A cut-out person as a picture: before a background, transparent around, or the mask alone.
#pragma once

#include "apps/portrait/chain/cut.h"

namespace oriel::portrait {

/// The mask as a grey picture: 255 is the person.
Image mask_of(const Cut& cut, int threads = 0);

/// The person with what is around transparent: RGBA, colours not multiplied by alpha; nothing shown is 0, 0, 0, 0.
Image transparent(const Image& image, const Cut& cut, int threads = 0);

/// How a person and a background become one picture.
struct Blend {
  bool linear_light = false;  ///< mixed pixels are blended as light, not as sRGB values
  double light_wrap = 0;      ///< share, 0 to 1, of the light around the person that falls on its edge
};

/// Throws Error for values out of range, naming the option of the command.
void check(const Blend& blend);

/// The person before `background` (RGB of the picture's size). With light wrap a colour c becomes
/// 1 - (1 - c)(1 - share * light), where light is what the new background sends to that pixel (spill, boxes of a
/// sixtieth of the shorter side). Throws Error.
Image compose(const Image& image, const Cut& cut, const Image& background, const Blend& blend = {}, int threads = 0);

}  // namespace oriel::portrait
