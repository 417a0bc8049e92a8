// Where masks come from: a network, a green screen, a mask that is there already.
#pragma once

#include <optional>
#include <string>

#include "apps/portrait/chain/cut.h"
#include "apps/portrait/segment/families.h"

namespace oriel::portrait {

/// Which of them, as asked for.
struct MaskSource {
  std::string model;            ///< a model's file, or the name of an installed one; empty: the best that is there
  std::string mask;             ///< a picture, 255 (or opaque) where the person is
  std::optional<Colour> key{};  ///< the colour of a screen behind the person
  int threads = 0;              ///< of a network
  bool fast = false;            ///< bfloat16 if the CPU has it
  bool reproducible = false;    ///< algorithms by a fixed rule rather than by trial: every run gives the same bits
  Device device = Device::cpu;  ///< that a network runs on
  bool video = false;           ///< images are the frames of one video
  bool trusted = false;         ///< the model's file is not tried in a separate process first
  NetworkSettings network{};    ///< of an ONNX or TensorFlow Lite file
  std::optional<double> least_agreement{};  ///< of the second look; nothing: the model's own
};

/// A segmenter and what to call it.
struct NamedSegmenter {
  Segmenter run;
  std::string name;
  std::vector<std::string> notes{};  ///< on the file that it was read from, to print
  bool in_order = false;             ///< frames of a video must come one at a time, in their order
  double least_agreement = 0;        ///< of masks of parts of an image with the whole's; 0: there is no second look
};

/// A mask, and what a second look says of it.
struct Seen {
  Planes mask;    ///< 0 everywhere if the second look finds no person
  Person person;  ///< of the first look
  bool looked_twice = false;
  double agreement = 1;   ///< of the second look
  bool rejected = false;  ///< by the second look
};

/// The segmenter's mask of `image`. If it has a second look and sees a person, the network is run on the four corners
/// of the image too, each 85 % of its sides: a network that sees a person in what is none judges each part otherwise.
Seen look_twice(const NamedSegmenter& segmenter, const Image& image, const MaskOptions& options);

/// Reads the mask or the model once. Throws Error.
NamedSegmenter make_segmenter(const MaskSource& source);

/// 1 where a pixel's hue and saturation are far from the key's, 0 where they are near; at most 512 pixels long.
Planes key_mask(const Image& image, Colour key);

/// The U-Net in a weights file as a segmenter, each call with an engine of its own: the picture in the network's
/// square, its logits through a sigmoid. In a build without networks: an Error that says so.
NamedSegmenter open_model(const MaskSource& source);

/// The network in the ONNX or TensorFlow Lite file source.model as a segmenter.
NamedSegmenter open_network_model(const MaskSource& source);

/// How that network would be run, in lines to print. Runs it once.
std::string describe_network(const MaskSource& source);

/// The demo model: where the program was installed, else where it was built. Throws Error when it is in neither place.
std::string demo_model();

}  // namespace oriel::portrait
