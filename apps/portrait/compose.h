// A cut-out person as a picture: before a background, transparent around, or the mask alone.
#pragma once

#include "apps/portrait/cut.h"

namespace oriel::portrait {

/// The mask as a grey picture: 255 is the person.
Image mask_of(const Cut& cut, int threads = 0);

/// The person with what is around transparent: RGBA, colours not multiplied by alpha; nothing shown is 0, 0, 0, 0.
Image transparent(const Image& image, const Cut& cut, int threads = 0);

/// The person before `background` (RGB of the picture's size). Mixed pixels are blended as sRGB values or, with
/// `linear_light`, as light.
Image compose(const Image& image, const Cut& cut, const Image& background, bool linear_light = false, int threads = 0);

}  // namespace oriel::portrait
