// Networks of others that are known: how each wants its picture, and which of its outputs is the mask.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "apps/portrait/runtime/network.h"

namespace oriel::portrait {

/// What the command line says of a network that is not known, or otherwise than the table.
struct NetworkSettings {
  index_t height = 0, width = 0;                    ///< of its input; 0: the network's own
  std::optional<std::array<float, 3>> mean, scale;  ///< colours from 0 to 1 become (value - mean) / scale
  std::string output;                               ///< name of the output that is the mask
};

/// A value that a video's next frame takes from this one: output `from` becomes input `to`. Zero before the first.
struct Recurrent {
  std::size_t to = 0, from = 0;
};

/// How a network is run.
struct NetworkPlan {
  std::string family;             ///< empty: not a known one
  index_t height = 0, width = 0;  ///< of its input; 0: as the picture's shape asks, about 512 x 512 pixels
  bool channels_last = false;     ///< NHWC, else NCHW
  bool by_brightest = false;      ///< colours are divided by the picture's greatest value first
  std::array<float, 3> mean = {0, 0, 0}, scale = {1, 1, 1};
  bool sigmoid = false;        ///< the output is logits
  bool stretch = false;        ///< the mask's least value becomes 0 and its greatest 1
  double least_agreement = 0;  ///< of masks of parts with the whole's, below which there is no person; 0: any
  std::size_t picture = 0;     ///< the input that the picture goes into
  std::vector<std::vector<index_t>> shapes{};  ///< of all inputs
  std::vector<std::size_t> outputs{};          ///< to compute; the first is the mask
  std::vector<Recurrent> recurrent{};          ///< `from` counts in `outputs`
  std::optional<std::size_t> ratio{};          ///< an input of one number, which is 1
};

/// The plan for a network with these inputs and outputs; `operations` are the types of all its operations. Throws Error
/// naming `file` if it is not a network that makes one mask of one picture, or if what is not known was not given.
NetworkPlan plan_network(const std::vector<Port>& inputs, const std::vector<Port>& outputs,
                         const std::vector<std::string>& operations, const NetworkSettings& settings,
                         const std::string& file);

/// Name and extents, as "x [1x3x?x?]".
std::string text_of(const Port& port);

/// Three numbers with commas between them, or one for all. Throws Error naming the option.
std::array<float, 3> parse_triple(const std::string& option, const std::string& text);

}  // namespace oriel::portrait
