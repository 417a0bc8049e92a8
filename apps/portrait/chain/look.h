// What a finished picture is to look like, and how a picture and its mask become it.
#pragma once

#include <optional>

#include "apps/portrait/chain/background.h"
#include "apps/portrait/chain/compose.h"

namespace oriel::portrait {

/// What happens to a picture in which no person is found.
enum class NoPerson : std::uint8_t {
  fail,        ///< it is an error
  background,  ///< the new background alone
  keep,        ///< the picture as it is
};

/// Everything that is asked of a finished picture.
struct Look {
  Background background{};
  Blend blend{};
  bool only_mask = false;  ///< the mask as a grey picture, whatever the background
  NoPerson no_person = NoPerson::fail;
  ChainOptions chain{};

  /// Channels of finished pictures: 1 for masks, 4 for transparent ones, else 3.
  index_t channels() const;
};

/// A finished image and the person that was found; no image if there is no person and that is a failure.
struct Finished {
  std::optional<Image> picture{};
  Person person{};
  double matte = 0, compose = 0;  ///< seconds for the alpha of each pixel, and for the picture made with it
};

/// The picture (RGB) as `look` wants it, given the network's mask; `opacity` (1 plane of its size, or empty) is what
/// the picture's own transparency leaves of it. `guide` (RGB of its size; null: the picture itself) is what the mask's
/// edges are found in. Throws Error.
Finished finish(const Image& image, const Planes& mask, const Look& look, const Planes& opacity = {},
                const Image* guide = nullptr);

}  // namespace oriel::portrait
