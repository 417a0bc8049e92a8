// What is put behind a person.
#pragma once

#include <memory>
#include <string>

#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// A new background. Lengths are pixels of the picture that it is for.
struct Background {
  enum class Kind : std::uint8_t { transparent, colour, gradient, picture, blur };
  enum class Fit : std::uint8_t { cover, contain };  ///< cut to the picture's shape, or whole with `first` around it

  Kind kind = Kind::transparent;
  Colour first{}, second{};                ///< the colour; the gradient's first and last
  double angle = 180;                      ///< the gradient's direction in degrees: 0 up, 90 right, 180 down
  double radius = 20;                      ///< of the blur: that of each of three boxes
  Fit fit = Fit::cover;                    ///< of the picture
  std::shared_ptr<const Image> picture{};  ///< RGB
};

/// A colour such as #fff, #1e90ff, white. Throws Error calling it `option`.
Colour parse_colour(const std::string& option, const std::string& text);

/// `transparent`, a colour, `blur`, `blur:RADIUS`, `gradient:COLOUR,COLOUR[,DEGREES]`; anything else is the name of a
/// picture's file, which the caller reads: then `kind` is picture and `picture` is null. Throws Error calling it
/// `option`.
Background parse_background(const std::string& option, const std::string& text);

/// The background of a picture, RGB of its size; `image` and `alpha` (1 plane of its size) are what a blur is made of:
/// the old background alone, blurred, without the person's colours in it. Not for transparent ones.
Image render(const Background& background, const Image& image, const Planes& alpha, int threads = 0);

}  // namespace oriel::portrait
