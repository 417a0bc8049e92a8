// Where masks come from: a network, a green screen, a mask that is there already.
#pragma once

#include <optional>
#include <string>

#include "apps/portrait/chain/cut.h"

namespace oriel::portrait {

/// Which of them, as asked for.
struct MaskSource {
  std::string model;            ///< weights file; empty: the demo model that comes with the program
  std::string mask;             ///< a picture, 255 (or opaque) where the person is
  std::optional<Colour> key{};  ///< the colour of a screen behind the person
  int threads = 0;              ///< of a network
  bool fast = false;            ///< bfloat16 if the CPU has it
  bool reproducible = false;    ///< algorithms by a fixed rule rather than by trial: every run gives the same bits
  Device device = Device::cpu;  ///< that a network runs on
};

/// A segmenter and what to call it.
struct NamedSegmenter {
  Segmenter run;
  std::string name;
  std::vector<std::string> notes{};  ///< on the file that it was read from, to print
};

/// Reads the mask or the weights once. Throws Error.
NamedSegmenter make_segmenter(const MaskSource& source);

/// 1 where a pixel's hue and saturation are far from the key's, 0 where they are near; at most 512 pixels long.
Planes key_mask(const Image& image, Colour key);

/// The network in a weights file as a segmenter, each call with an engine of its own: the picture in the network's
/// square, its logits through a sigmoid. In a build without networks: an Error that says so.
NamedSegmenter open_model(const MaskSource& source);

/// The demo model: where the program was installed, else where it was built. Throws Error when it is in neither place.
std::string demo_model();

}  // namespace oriel::portrait
